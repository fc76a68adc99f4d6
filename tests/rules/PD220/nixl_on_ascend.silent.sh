# pd-test: target=0.23.0
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_buffer_device": "cuda"}'
