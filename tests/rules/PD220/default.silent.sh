# pd-test: target=0.23.0
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_buffer_size": 1000000000.0}'
