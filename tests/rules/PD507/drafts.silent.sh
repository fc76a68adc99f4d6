#!/bin/bash
# pd-test: target=0.26.0rc1
export HCCL_IF_IP=192.0.2.11
vllm serve /models/deepseek-v3.1-w8a8 \
  --max-num-seqs 16 --max-num-batched-tokens 256 \
  --speculative-config '{"method": "dflash", "model": "/models/draft", "num_speculative_tokens": 15}'
