#!/bin/bash
# pd-test: target=0.25.1rc1
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"scheduler_config": {"short_request_first_config": {"enabled": true}}}' \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "'"$1"'"}'
