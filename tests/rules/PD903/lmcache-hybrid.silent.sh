#!/bin/bash
# pd-test: target=vllm==0.26.0
export PYTHONHASHSEED=0
vllm serve /models/Qwen3-8B \
  --kv-transfer-config '{"kv_connector": "LMCacheMPConnector", "kv_role": "kv_both"}'
