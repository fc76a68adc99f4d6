# pd-test: target=0.25.1rc1
vllm serve Qwen/Qwen3-32B \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"backend": "mooncake", "consumer_is_to_put": true}}'
