#!/bin/bash
export VLLM_KV_CACHE_LAYOUT=HND
vllm serve Qwen/Qwen3-8B \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
