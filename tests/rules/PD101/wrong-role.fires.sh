#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  -tp 8 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "consumer", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
