# pd-test: target=0.27.1rc1 severity=warning
vllm serve /models/m \
  --additional-config '{"recompute_scheduler_enable": true}' \
  --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"offload_host_memory_ratio": 1.0}}'
