#!/bin/bash
# pd-test: target=0.25.1rc1 severity=error line=5
vllm serve deepseek-ai/DeepSeek-V3.1 \
  -tp 8 --enable-expert-parallel \
  --additional-config '{"enable_fused_mc2": 1, "enable_mc2_hierarchy_comm": true}'
