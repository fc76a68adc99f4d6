# pd-test: target=0.23.0 severity=warning
export MOONCAKE_GLOBAL_SEGMENT_SIZE=200GB
vllm serve /models/m \
  --tensor-parallel-size 8 \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"backend": "mooncake", "lookup_rpc_port": "0"}}'
