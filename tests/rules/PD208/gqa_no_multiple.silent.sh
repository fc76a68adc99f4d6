# pd-test: target=0.26.0rc1
vllm serve zai-org/GLM-4.7 \
  --tensor-parallel-size 8 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 4}}}'
