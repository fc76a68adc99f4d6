#!/bin/bash
# pd-test: target=vllm:0.32.0
vllm serve m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both", "kv_connector_extra_config": {"lmcache.chunk_size": 256, "lmcache.max_tokens_per_load": 131072, "lmcache_rpc_port": "a"}}'
