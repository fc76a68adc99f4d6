#!/bin/bash
# pd-test: target=0.18.0 severity=error
export VLLM_ASCEND_ENABLE_FUSED_MC2=1
vllm serve deepseek-ai/DeepSeek-V3.1 \
  -tp 8 --enable-expert-parallel \
  --additional-config '{"enable_mc2_hierarchy_comm": true}'
