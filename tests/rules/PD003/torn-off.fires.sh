# pd-test: severity=error line=4
vllm serve /models/Qwen3-8B \
  --port 8000
  -tp 2 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
