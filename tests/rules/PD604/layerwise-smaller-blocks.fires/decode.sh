#!/bin/bash
# pd-test: severity=error target=0.26.0rc1
export HCCL_IF_IP=192.0.2.11
vllm serve /models/m \
  --tensor-parallel-size 8 --block-size 64 --port 8200 \
  --kv-transfer-config '{"kv_connector": "MooncakeLayerwiseConnector", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
