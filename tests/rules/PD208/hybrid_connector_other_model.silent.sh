# pd-test: target=0.26.0rc1
vllm serve Eco-Tech/DeepSeek-V4-Flash-w8a8-mtp \
  --tensor-parallel-size 8 \
  --kv-transfer-config '{"kv_connector": "MooncakeHybridConnector", "kv_role": "kv_producer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 4}}}'
