# pd-test: target=0.23.0 severity=error line=3
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
