#!/bin/bash
# pd-test: line=4 severity=warning target=vllm==0.30.0
vllm serve deepseek-ai/DeepSeek-V4-Flash --max-num-seqs 6 --speculative-config '{"method":"mtp","num_speculative_tokens":3}' \
  --max-cudagraph-capture-size 6
