#!/bin/bash
# pd-test: target=0.25.1rc1
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}}' \
  --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"connectors": [{"kv_connector": "'"$NAME"'", "kv_role": "kv_consumer"}]}}'
