#!/bin/bash
export HCCL_IF_IP=192.0.2.11
ASCEND_RT_VISIBLE_DEVICES=0,1,2,3 vllm serve /models/m --port 9100 --tensor-parallel-size 4 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 4}, "decode": {"dp_size": 1, "tp_size": 4}}}' &
ASCEND_RT_VISIBLE_DEVICES=4,5,6,7 vllm serve /models/m --port 9101 --tensor-parallel-size 4 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 4}, "decode": {"dp_size": 1, "tp_size": 4}}}' &
