# pd-test: target=0.24.0rc1
vllm serve /models/Qwen3.5-397B-A17B-w8a8 \
  --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_producer", "kv_connector_extra_config": {"connectors": [
    {"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"},
    {"kv_connector": "AscendStoreConnector", "kv_role": "kv_producer", "kv_connector_extra_config": {"backend": "mooncake", "load_async": true}}]}}'
