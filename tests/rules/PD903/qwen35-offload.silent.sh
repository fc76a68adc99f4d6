#!/bin/bash
# pd-test: target=0.28.0rc1
vllm serve /models/Qwen3-235B-A22B \
  --kv-transfer-config '{"kv_connector": "PreemptOffloadConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
