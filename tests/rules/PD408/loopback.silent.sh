#!/bin/bash
vllm serve /models/deepseek-v3.1-w8a8 \
  --data-parallel-size 4 --data-parallel-size-local 4 --data-parallel-address 127.0.0.1 --data-parallel-rpc-port 13389
