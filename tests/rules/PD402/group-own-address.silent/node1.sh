#!/bin/bash
# pd-test: target=vllm:0.32.0
vllm serve deepseek-ai/DeepSeek-V3 --headless --data-parallel-start-rank 2 --data-parallel-size 4 --data-parallel-size-local 2 --data-parallel-address $LOCAL_IP --data-parallel-rpc-port 13389 --tensor-parallel-size 8
