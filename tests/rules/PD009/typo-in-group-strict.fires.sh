#!/bin/bash
# pd-test: target=0.28.0 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"scheduler_config": {"recompute_scheduler_enabled": true}}'
