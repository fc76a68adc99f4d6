#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --port 8000 &
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --port 8001
