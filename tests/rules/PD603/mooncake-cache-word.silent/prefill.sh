#!/bin/bash
# pd-test: target=vllm:0.32.0
vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8 --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}'
