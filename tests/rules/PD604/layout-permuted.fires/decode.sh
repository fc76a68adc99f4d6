#!/bin/bash
# pd-test: severity=warning target=vllm==0.32.0
export VLLM_KV_CACHE_LAYOUT=NHD
vllm serve /models/deepseek-v3.1-w8a8 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer", "enable_permute_local_kv": true}'
