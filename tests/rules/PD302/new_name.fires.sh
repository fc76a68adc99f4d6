# pd-test: target=0.28.0rc1 severity=info
vllm serve /models/m \
  --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}}' \
  --kv-transfer-config '{"kv_connector": "PreemptOffloadConnector", "kv_role": "kv_consumer"}'
