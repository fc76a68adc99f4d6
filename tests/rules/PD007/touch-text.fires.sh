#!/bin/bash
# pd-test: target=vllm==0.32.0 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_connector_module_path": "pd_launch.connector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184, "touch_host_memory": "true"}}'
