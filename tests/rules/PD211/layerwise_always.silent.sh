# pd-test: target=0.18.0
vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct \
  --kv-transfer-config '{"kv_connector": "MooncakeLayerwiseConnector", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}'
