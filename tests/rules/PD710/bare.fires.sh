#!/bin/bash
# pd-test: target=vllm:0.32.0 severity=warning line=3
vllm serve m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both", "kv_connector_extra_config": {"chunk_size": 256}}'
