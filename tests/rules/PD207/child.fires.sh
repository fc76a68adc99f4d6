# pd-test: target=0.23.0
vllm serve /models/m \
  --data-parallel-size 8 \
  --tensor-parallel-size 4 \
  --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"connectors": [{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 4, "tp_size": 8}, "decode": {"dp_size": 4, "tp_size": 8}}}, {"kv_connector": "AscendStoreConnector", "kv_role": "kv_consumer"}]}}'
