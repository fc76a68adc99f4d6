#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --no-enable-prefix-caching
