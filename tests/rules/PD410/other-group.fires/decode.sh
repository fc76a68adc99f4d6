#!/bin/bash
# pd-test: severity=error
export HCCL_IF_IP=192.0.2.21
vllm serve /models/deepseek-v3.1-w8a8 \
  --tensor-parallel-size 2 --data-parallel-size 4 --data-parallel-size-local 2 --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 16600 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36100", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 4, "tp_size": 2}}}'
