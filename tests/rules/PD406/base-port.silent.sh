# pd-test: target=0.23.0
export ASCEND_BASE_PORT=40000
vllm serve /models/m --tensor-parallel-size 8 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "20001"}'
