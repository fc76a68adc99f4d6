#!/bin/bash
# pd-test: severity=warning target=vllm==0.30.0
export LMCACHE_REMOTE_URL=lm://cache:65432
vllm serve /models/m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
