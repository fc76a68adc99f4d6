#!/bin/bash
# pd-test: target=0.25.1rc1
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --enable-expert-parallel \
  --port 8000
