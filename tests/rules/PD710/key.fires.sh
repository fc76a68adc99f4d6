#!/bin/bash
# pd-test: target=vllm:0.32.0 severity=warning line=4
cat > lmcache.yaml <<EOF
chunk_sizes: 256
EOF
LMCACHE_CONFIG_FILE=lmcache.yaml vllm serve m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
