#!/bin/bash
# pd-test: target=0.18.0
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --enable-dbo
