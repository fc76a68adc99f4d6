#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}, "kv_load_failure_policy": "recompute"}'
