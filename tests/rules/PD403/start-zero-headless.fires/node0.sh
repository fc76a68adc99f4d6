#!/bin/bash
# pd-test: target=0.28.0rc1 line=3
vllm serve /models/deepseek-v3.2-w8a8 --data-parallel-size 4 --data-parallel-size-local 2 --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13389 --data-parallel-start-rank 0
