#!/bin/bash
# pd-test: target=0.28.0 severity=error line=4
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"enable_cpu_bindng": true}'
