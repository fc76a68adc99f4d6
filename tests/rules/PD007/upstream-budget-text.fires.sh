# pd-test: target=vllm:0.32.0 line=3
vllm serve Qwen/Qwen3-32B -tp 2 \
  --kv-transfer-config '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"cpu_bytes_to_use": "64GB"}}'
