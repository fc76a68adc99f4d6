# pd-test: target=0.23.0
vllm serve /models/m \
  --additional-config '{"recompute_scheduler_enable": true}' \
  --kv-transfer-config '{"kv_connector": "PreemptOffloadConnectorV1", "kv_role": "kv_consumer", "kv_connector_module_path": "vllm_ascend.distributed.kv_transfer.kv_pool.kv_offload.preempt_offload.preempt_offload_connector", "kv_connector_extra_config": {}}'
