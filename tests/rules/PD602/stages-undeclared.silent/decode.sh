#!/bin/bash
vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 16 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8, "pp_size": 2}, "decode": {"dp_size": 16, "tp_size": 1}}}'
