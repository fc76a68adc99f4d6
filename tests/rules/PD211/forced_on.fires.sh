# pd-test: target=0.23.0 severity=error
vllm serve Qwen/Qwen3-32B \
  --no-disable-hybrid-kv-cache-manager \
  --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
