#!/bin/bash
# pd-test: target=0.29.0rc1 severity=warning line=4
vllm serve /models/Qwen3.5-397B-A17B --no-async-scheduling \
  --kv-transfer-config '{"kv_connector": "PreemptOffloadConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
