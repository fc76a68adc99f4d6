# pd-test: target=0.26.0rc1
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_producer", "kv_connector_extra_config": {"backend": "mooncake"}}'
