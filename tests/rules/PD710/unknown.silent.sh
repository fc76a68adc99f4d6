#!/bin/bash
# pd-test: target=vllm:0.32.0
cat > lmcache.yaml <<EOF
chunk_size: $SIZE
local_cpu: $ON
cache_policy: $POLICY
EOF
LMCACHE_CONFIG_FILE=lmcache.yaml vllm serve m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
