#!/bin/bash
# pd-test: severity=warning target=vllm==0.30.0
MOONCAKE_CONFIG_PATH=mooncake_config.json vllm serve meta-llama/Llama-3.1-8B-Instruct --data-parallel-size 2 --kv-transfer-config '{"kv_connector": "MooncakeStoreConnector", "kv_role": "kv_both"}'
