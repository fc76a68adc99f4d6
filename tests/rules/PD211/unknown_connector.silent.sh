# pd-test: target=vllm==0.32.0
vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct \
  --no-disable-hybrid-kv-cache-manager \
  --kv-transfer-config '{"kv_connector": "LMCacheMPConnector", "kv_role": "kv_both"}'
