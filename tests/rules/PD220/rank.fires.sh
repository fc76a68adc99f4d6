# pd-test: target=0.23.0 severity=info
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_rank": 0}'
