#!/bin/bash
# pd-test: target=vllm==0.32.0
vllm serve Qwen/Qwen3-8B \
  --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"connectors": [{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}, {"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer", "kv_connector_module_path": "pd_launch.connector", "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}]}}'
