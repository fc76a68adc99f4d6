#!/bin/bash
# pd-test: severity=warning target=vllm==0.27.1
export VLLM_KV_CACHE_LAYOUT=NHD
vllm serve Qwen/Qwen3-8B \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer", "enable_permute_local_kv": "True"}'
