# pd-test: target=0.23.0
vllm serve /models/m \
  --kv-cache-memory-bytes 8589934592 \
  --additional-config '{"recompute_scheduler_enable": true}' \
  --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 8589934592}}'
