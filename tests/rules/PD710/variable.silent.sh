#!/bin/bash
# pd-test: target=vllm:0.32.0
export LMCACHE_CHUNK_SIZE=256 LMCACHE_LOCAL_CPU=True LMCACHE_MAX_LOCAL_CPU_SIZE=5.0 LMCACHE_EXTRA_CONFIG='{"a": 1}' LMCACHE_LOG_LEVEL=DEBUG LMCACHE_SOMETHING=1 LMCACHE_BLEND_CHECK_LAYERS=1,2
vllm serve m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
