#!/bin/bash
# pd-test: target=0.25.1rc1 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  -pp 2 \
  --additional-config '{"scheduler_config": {"profiling_chunk_config": {"enabled": true}, "enable_balance_scheduling": true}}'
