#!/bin/bash
export HCCL_IF_IP=192.0.2.21
vllm serve /models/deepseek-v3.1-w8a8 \
  --tensor-parallel-size 1 --data-parallel-size 32 --data-parallel-size-local 16 --data-parallel-address 192.0.2.21 \
  --enable-expert-parallel --max-num-seqs 40 --max-num-batched-tokens 40 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 32, "tp_size": 1}}}'
