# pd-test: target=vllm==0.29.0 severity=warning line=2
vllm serve /models/m --async-scheduling  --kv-transfer-config '{"kv_connector": "PreemptOffloadConnector", "kv_role": "kv_both", "kv_connector_module_path": "pd_launch.connector", "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 1073741824}}'
