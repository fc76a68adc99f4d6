# pd-test: target=0.26.0rc1 severity=error
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000"}'
