#!/bin/bash
# pd-test: target=0.30.0rc2 severity=error
vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV2", "kv_role": "kv_both", "kv_port": "36000"}'
