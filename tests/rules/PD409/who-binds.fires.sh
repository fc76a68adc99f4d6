#!/bin/bash
vllm serve Qwen/Qwen3-32B \
  --data-parallel-size 2 --tensor-parallel-size 4 \
  --kv-transfer-config '{"kv_connector": "MooncakeHybridConnector", "kv_role": "kv_producer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 2, "tp_size": 4}, "decode": {"dp_size": 2, "tp_size": 4}}}'
