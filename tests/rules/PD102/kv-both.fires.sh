#!/bin/bash
# pd-test: target=0.23.0 severity=error line=4
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"recompute_scheduler_enable": true}' \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both"}'
