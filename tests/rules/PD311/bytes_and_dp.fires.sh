# pd-test: target=0.23.0
export MOONCAKE_GLOBAL_SEGMENT_SIZE=214748364800
vllm serve /models/m \
  --tensor-parallel-size 8 \
  --data-parallel-size 2 \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"backend": "mooncake"}}'
