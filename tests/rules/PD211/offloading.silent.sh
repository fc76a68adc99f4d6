# pd-test: target=vllm==0.21.0
vllm serve Qwen/Qwen3.5-27B --kv-transfer-config '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"cpu_bytes_to_use": 17179869184}}'
