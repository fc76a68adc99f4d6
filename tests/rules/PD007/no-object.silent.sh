#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{}'
