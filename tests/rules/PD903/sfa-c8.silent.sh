# pd-test: target=0.23.0
vllm serve /models/GLM-5.2 --tensor-parallel-size 8 \
  --additional-config '{"enable_sparse_sfa_c8": true}' \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
