#!/bin/bash
# pd-test: target=vllm==0.32.0
vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 \
  --kv-transfer-config '{"kv_connector": "LMCacheMPConnector", "kv_role": "kv_both"}'
