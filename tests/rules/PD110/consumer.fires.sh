#!/bin/bash
# pd-test: target=0.22.1rc1 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --data-parallel-size 16 --data-parallel-rank 0 \
  --additional-config '{"finegrained_tp_config": {"oproj_tensor_parallel_size": 8}}' \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
