#!/bin/bash
# pd-test: target=0.23.0
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --tensor-parallel-size 8 \
  --additional-config '{"enable_cpu_binding": true}'
