#!/bin/bash
# pd-test: target=vllm==0.32.0
vllm serve deepseek-ai/DeepSeek-V3 \
  --block-size 16
