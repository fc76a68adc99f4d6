#!/bin/bash
# pd-test: severity=warning line=6
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --max-num-batched-tokens 8 \
  --max-num-seqs 8 \
  --max-num-batched-tokens 4096
