# pd-test: target=0.25.1rc1
vllm serve Qwen/Qwen3-32B \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_load_failure_policy": "recompute", "kv_connector_extra_config": {"backend": "mooncake"}}'
