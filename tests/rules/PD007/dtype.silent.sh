#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --dtype float16
