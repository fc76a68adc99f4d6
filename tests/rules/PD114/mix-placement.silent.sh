#!/bin/bash
# pd-test: target=0.25.1rc1
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"mix_placement": true, "multistream_overlap_shared_expert": false}'
