# pd-test: severity=warning line=2 target=vllm==0.32.0
LMCACHE_CONFIG_FILE=/etc/lmcache.yaml
vllm serve /models/m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_producer"}'
