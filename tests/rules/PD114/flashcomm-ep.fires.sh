#!/bin/bash
# pd-test: target=0.23.0 severity=error
export VLLM_ASCEND_ENABLE_FLASHCOMM1=1
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --tensor-parallel-size 8
