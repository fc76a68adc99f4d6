#!/bin/bash
# pd-test: target=0.25.1rc1
vllm serve deepseek-ai/DeepSeek-V3.1 \
  -tp 8 --enable-expert-parallel \
  --additional-config '{"enable_flashcomm1": true}'
