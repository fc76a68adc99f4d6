#!/bin/bash
# pd-test: target=vllm:0.32.0 severity=error line=3
export LMCACHE_CHUNK_SIZE=256k
vllm serve m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
