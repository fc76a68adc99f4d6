# pd-test: target=vllm==0.32.0
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
