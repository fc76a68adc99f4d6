#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --middleware a.b \
  --middleware c.d
