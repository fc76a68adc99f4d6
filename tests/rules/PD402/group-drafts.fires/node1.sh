#!/bin/bash
# pd-test: target=vllm:0.32.0 severity=error
vllm serve deepseek-ai/DeepSeek-V3 --headless --data-parallel-start-rank 2 --data-parallel-size 4 --data-parallel-size-local 2 --data-parallel-address 192.0.2.1 --data-parallel-rpc-port 13389 --tensor-parallel-size 4
