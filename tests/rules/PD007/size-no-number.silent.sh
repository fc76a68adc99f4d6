#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --tensor-parallel-size 8
