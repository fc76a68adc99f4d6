#!/bin/bash
# pd-test: target=0.28.0rc1 severity=error line=4
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"enable_cpu_bindng": true}'
