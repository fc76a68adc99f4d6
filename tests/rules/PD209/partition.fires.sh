# pd-test: target=0.26.0rc1
vllm serve /models/m \
  --tensor-parallel-size 8 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8, "pp_size": 2, "pp_layer_partition": "20,20,21"}, "decode": {"dp_size": 1, "tp_size": 8}}}'
