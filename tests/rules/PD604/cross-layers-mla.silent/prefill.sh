#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
