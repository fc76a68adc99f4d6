#!/bin/bash
# pd-test: target=0.27.1rc1
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"enable_cpu_binding": true, "recompute_scheduler_enable": true, "refresh": true}'
