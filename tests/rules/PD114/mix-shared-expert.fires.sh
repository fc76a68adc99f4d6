#!/bin/bash
# pd-test: target=0.25.1rc1 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  -tp 8 --enable-expert-parallel \
  --additional-config '{"mix_placement": true, "enable_shared_expert_dp": true}'
