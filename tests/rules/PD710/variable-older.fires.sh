#!/bin/bash
# pd-test: target=vllm:0.32.0 severity=warning line=3
export LMCACHE_NIXL_ROLE=sender
vllm serve m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
