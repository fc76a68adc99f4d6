#!/bin/bash
vllm serve /models/deepseek-v3.1-w8a8 \
  --max-model-len 1024 --max-num-seqs 4 --max-num-batched-tokens 4096
