#!/bin/bash
export HCCL_IF_IP=192.0.2.11
vllm serve /models/deepseek-v3.1-w8a8 \
  --tensor-parallel-size 8 --data-parallel-size 2 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 2, "tp_size": 8}, "decode": {"dp_size": 2, "tp_size": 4}}}'
