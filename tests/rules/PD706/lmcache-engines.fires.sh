#!/bin/bash
# pd-test: severity=warning target=vllm==0.30.0
export LMCACHE_CONFIG_FILE=/etc/lmcache.yaml
CUDA_VISIBLE_DEVICES=0 vllm serve /models/m --port 8000 \
  --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}' &
CUDA_VISIBLE_DEVICES=1 vllm serve /models/m --port 8001 \
  --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
