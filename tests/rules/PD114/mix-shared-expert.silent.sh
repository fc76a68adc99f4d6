#!/bin/bash
# pd-test: target=0.25.1rc1
vllm serve deepseek-ai/DeepSeek-V3.1 \
  -tp 1 \
  --additional-config '{"mix_placement": true, "enable_shared_expert_dp": true}'
