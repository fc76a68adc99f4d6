#!/bin/bash
# pd-test: target=vllm==0.30.0
export LMCACHE_LOCAL_CPU=True
vllm serve /models/m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
