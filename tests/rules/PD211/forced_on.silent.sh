# pd-test: target=0.23.0
vllm serve Qwen/Qwen3-32B \
  --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
