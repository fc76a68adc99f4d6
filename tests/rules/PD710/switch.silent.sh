#!/bin/bash
# pd-test: target=vllm:0.32.0
cat > lmcache.yaml <<EOF
local_cpu: on
use_layerwise: "no"
EOF
LMCACHE_CONFIG_FILE=lmcache.yaml vllm serve m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
