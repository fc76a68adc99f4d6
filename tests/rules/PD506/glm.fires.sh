#!/bin/bash
export HCCL_BUFFSIZE=256
export HCCL_IF_IP=192.0.2.21
vllm serve /models/glm-5.3-w8a8c8 \
  --tensor-parallel-size 2 --data-parallel-size 16 --data-parallel-size-local 16 --data-parallel-address 192.0.2.21 \
  --enable-expert-parallel --max-num-seqs 192 --max-num-batched-tokens 192 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 16, "tp_size": 2}}}'
