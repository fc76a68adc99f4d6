#!/bin/bash
# pd-test: target=0.25.1rc1 severity=warning
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"enable_cpu_bindng": true}'
