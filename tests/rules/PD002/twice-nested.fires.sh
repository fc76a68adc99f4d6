#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_connector_extra_config": {"decode": {"tp_size": 4, "tp_size": 8}}}'
