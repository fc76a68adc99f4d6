# pd-test: target=0.26.0rc1 severity=info
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorStoreV1", "kv_role": "kv_both"}'
