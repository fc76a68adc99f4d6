#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --tensor-parallel-size 8 \
  --kv-transfer-config "{'kv_connector': 'MooncakeConnectorV1', 'kv_role': 'kv_consumer'}"
