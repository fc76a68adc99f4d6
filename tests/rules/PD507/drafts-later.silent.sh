#!/bin/bash
# pd-test: target=vllm==0.32.0
vllm serve /models/deepseek-v3.1-w8a8 \
  --max-num-seqs 16 --max-num-batched-tokens 224 \
  --speculative-config '{"method": "dflash", "model": "/models/draft", "num_speculative_tokens": 15}'
