#!/bin/bash
# pd-test: target=vllm:0.32.0
cat > lmcache.yaml <<EOF
chunk_size: 256
local_cpu: True
max_local_cpu_size: 5
blend_check_layers: 1
local_disk:
p2p_init_ports: [1, 2]
nixl_backends: [UCX]
plugin_locations: [a]
extra_config: {lookup_backoff_time: 0.001}
cache_policy: lru
EOF
LMCACHE_CONFIG_FILE=lmcache.yaml vllm serve m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
