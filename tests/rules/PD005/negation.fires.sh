#!/bin/bash
# pd-test: severity=warning
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --enable-prefix-caching \
  --no-enable-prefix-caching
