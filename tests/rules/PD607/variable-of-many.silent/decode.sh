#!/bin/bash
export HCCL_IF_IP=192.0.2.21
vllm serve /models/deepseek-v3.1-w8a8 \
  --port 9100 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}'
