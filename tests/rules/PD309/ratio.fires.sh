# pd-test: target=vllm==0.32.0
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer", "kv_connector_module_path": "pd_launch.connector", "kv_connector_extra_config": {"offload_host_memory_ratio": 2.0}}'
