#!/bin/bash
# pd-test: target=vllm==0.27.1
export PYTHONHASHSEED=0
vllm serve /models/Qwen3.5-35B-A3B --mamba-cache-mode none --speculative-config '{"method": "mtp", "num_speculative_tokens": 2}' \
  --kv-transfer-config '{"kv_connector": "LMCacheMPConnector", "kv_role": "kv_both"}'
