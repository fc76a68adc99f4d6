#!/bin/bash
# pd-test: target=vllm==0.32.0
vllm serve Qwen/Qwen3-32B \
  --data-parallel-size 8 --data-parallel-rank 0 --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13389 --data-parallel-external-lb
