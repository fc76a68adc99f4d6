# pd-test: target=vllm:0.23.0 line=3
vllm serve Qwen/Qwen3-32B -tp 2 \
  --kv-transfer-config '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"num_cpu_blocks": 10000}}'
