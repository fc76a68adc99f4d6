#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "'"$FIELD"'": 1}'
