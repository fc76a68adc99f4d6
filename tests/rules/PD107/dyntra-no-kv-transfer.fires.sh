#!/bin/bash
# pd-test: target=0.28.0rc1 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  -dp 2 \
  --additional-config '{"scheduler_config": {"dyntra_lb_config": {"enabled": true}}}'
