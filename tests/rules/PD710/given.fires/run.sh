#!/bin/bash
export LMCACHE_CONFIG_FILE=/etc/lmcache.yaml
vllm serve m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
