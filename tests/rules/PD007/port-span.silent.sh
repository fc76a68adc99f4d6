# pd-test: target=0.26.0rc1
vllm serve /models/DeepSeek-R1 --tensor-parallel-size 1 --data-parallel-size 16 --enable-expert-parallel \
  --kv-transfer-config '{
    "kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer",
    "kv_port": "65520", "kv_connector_extra_config": {
      "prefill": {"dp_size": 16, "tp_size": 1}, "decode": {"dp_size": 16, "tp_size": 1}}}'
