#!/bin/bash
# pd-test: target=0.23.0 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"enable_reduce_sample": true, "finegrained_tp_config": {"lmhead_tensor_parallel_size": 4}}' \
  -dp 4 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
