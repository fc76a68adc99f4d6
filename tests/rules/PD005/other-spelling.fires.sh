#!/bin/bash
# pd-test: severity=warning
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --tensor-parallel-size 8 \
  -tp 4
