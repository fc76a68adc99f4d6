#!/bin/bash
# pd-test: severity=error line=4
vllm serve Eco-Tech/Qwen3.6-27B-w8a8 \
  --data-parallel-size 8 --data-parallel-rank 0 --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13389
