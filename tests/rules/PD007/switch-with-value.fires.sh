#!/bin/bash
# pd-test: target=0.25.1rc1 severity=error line=4
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --enable-expert-parallel true \
  --port 8000
