# pd-test: target=0.30.0rc1
export PYTHONHASHSEED=0 MOONCAKE_CONFIG_PATH=/etc/m.json
vllm serve /models/m --async-scheduling  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"backend": "mooncake", "lookup_rpc_port": "0"}}'
