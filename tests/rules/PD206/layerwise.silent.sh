# pd-test: target=0.26.0rc1
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "MooncakeLayerwiseConnector", "kv_role": "kv_consumer", "kv_port": "36000"}'
