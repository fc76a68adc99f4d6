# pd-test: target=0.28.0rc1
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"cpu_bytes_to_use": 1073741824}}'
