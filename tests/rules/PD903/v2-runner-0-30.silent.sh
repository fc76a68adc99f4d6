#!/bin/bash
# pd-test: target=0.30.0rc1
export VLLM_USE_V2_MODEL_RUNNER=1
vllm serve /models/Qwen3-235B-A22B \
  --kv-transfer-config '{"kv_connector": "PreemptOffloadConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
