#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V4-Flash --max-num-seqs 6 --speculative-config '{"method":"mtp","num_speculative_tokens":3}' \
  --max-cudagraph-capture-size 24
