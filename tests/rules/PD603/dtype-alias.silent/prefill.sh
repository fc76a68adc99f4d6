#!/bin/bash
vllm serve /data/DeepSeek-V3.1_w8a8 --dtype half --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}'
