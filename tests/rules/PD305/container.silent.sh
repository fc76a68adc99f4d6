# pd-test: target=0.23.0
docker run --memory=256g --shm-size=512g quay.io/ascend/vllm-ascend:v0.23.0 \
  vllm serve /models/m --tensor-parallel-size 8 --data-parallel-size 2 --data-parallel-size-local 2 \
  --additional-config '{"recompute_scheduler_enable": true}' \
  --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
