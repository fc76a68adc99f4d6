#!/bin/bash
# pd-test: target=vllm:0.32.0
export LMCACHE_CHUNK_SIZE=256k
vllm serve m --kv-transfer-config '{"kv_connector": "LMCacheMPConnector", "kv_role": "kv_both"}'
