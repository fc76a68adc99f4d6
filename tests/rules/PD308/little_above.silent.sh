# pd-test: target=vllm==0.25.1
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"cpu_bytes_to_use": 64424509440}}'
