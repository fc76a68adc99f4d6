#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --max-num-seqs 8 \
  --max-num-batched-tokens 4096
