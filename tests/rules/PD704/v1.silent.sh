#!/bin/bash
# pd-test: target=0.23.0
export VLLM_USE_V1=0
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
