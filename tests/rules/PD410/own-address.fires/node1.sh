#!/bin/bash
# pd-test: severity=error line=5
export HCCL_IF_IP=192.0.2.12
vllm serve /models/deepseek-v3.1-w8a8 \
  --data-parallel-size 4 --data-parallel-size-local 2 --data-parallel-start-rank 2 --headless --data-parallel-address 192.0.2.12 --data-parallel-rpc-port 13389
