#!/bin/bash
# pd-test: target=0.26.0rc1 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  -tp 8 --enable-expert-parallel \
  --additional-config '{"enable_fused_mc2": 1, "mc2_comm_alg": "hierarchy"}'
