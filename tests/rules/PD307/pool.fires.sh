# pd-test: target=0.23.0
export MOONCAKE_GLOBAL_SEGMENT_SIZE=4GB
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"backend": "mooncake"}}'
