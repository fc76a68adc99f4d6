# pd-test: target=0.27.1rc1
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "PreemptOffloadConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 1073741824}}'
