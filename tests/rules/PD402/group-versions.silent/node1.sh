#!/bin/bash
# pd-test: target=vllm:0.32.0
vllm serve Qwen/Qwen3-235B-A22B --data-parallel-size 8 --data-parallel-size-local 2 --data-parallel-address 192.0.2.1 --data-parallel-rpc-port 13389 --tensor-parallel-size 4
