# pd-test: target=0.28.0rc1
vllm serve /models/m \
  --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}}' \
  --kv-transfer-config '{"kv_connector": "PreemptOffloadConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"offload_host_memory_ratio": 1.0}}'
