# pd-test: target=vllm==0.32.0
vllm serve Qwen/Qwen3-32B \
  --tensor-parallel-size 4 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 2}, "decode": {"dp_size": 1, "tp_size": 4}}}'
