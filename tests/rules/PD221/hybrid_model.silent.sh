# pd-test: target=0.25.1rc1
vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"backend": "mooncake"}}'
