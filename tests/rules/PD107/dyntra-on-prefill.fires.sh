#!/bin/bash
# pd-test: target=0.28.0rc1 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  -dp 2 \
  --additional-config '{"scheduler_config": {"dyntra_lb_config": {"enabled": true}}}' \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
