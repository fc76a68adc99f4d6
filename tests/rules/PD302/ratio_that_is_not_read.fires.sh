# pd-test: target=0.24.0rc1
vllm serve /models/m \
  --additional-config '{"recompute_scheduler_enable": true}' \
  --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"offload_host_memory_ratio": 1.0}}'
