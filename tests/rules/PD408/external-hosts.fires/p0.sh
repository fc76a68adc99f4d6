#!/bin/bash
export HCCL_IF_IP=192.0.2.11
vllm serve /models/deepseek-v3.1-w8a8 \
  --data-parallel-size 2 --data-parallel-rank 0 --data-parallel-address 127.0.0.1 --data-parallel-rpc-port 13389
