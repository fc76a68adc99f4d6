# pd-test: target=0.26.0rc1
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "SimpleCPUOffloadConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"cpu_bytes_to_use": 1073741824}}'
