#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --gpu-memory-utilization 0.9
