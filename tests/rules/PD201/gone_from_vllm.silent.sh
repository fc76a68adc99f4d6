# pd-test: target=vllm==0.23.0
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "P2pNcclConnector", "kv_role": "kv_both"}'
