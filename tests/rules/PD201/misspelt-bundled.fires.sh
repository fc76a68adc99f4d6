# pd-test: target=vllm==0.32.0 severity=error
vllm serve /models/m --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 1073741824}}'
