#!/bin/bash
export HCCL_IF_IP=192.0.2.11
vllm serve /models/deepseek-v3 --port 8100 --data-parallel-size 4 --data-parallel-size-local 2 --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13389 &
vllm serve /models/deepseek-v3 --port 8200 --data-parallel-size 4 --data-parallel-size-local 2 --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13389 &
