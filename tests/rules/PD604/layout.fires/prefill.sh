#!/bin/bash
export VLLM_KV_CACHE_LAYOUT=HND
vllm serve /models/deepseek-v3.1-w8a8 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
