#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  -tp 4 \
  -dp 4
