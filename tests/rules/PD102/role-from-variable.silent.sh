#!/bin/bash
# pd-test: target=0.23.0
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"recompute_scheduler_enable": true}' \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "'"$1"'"}'
