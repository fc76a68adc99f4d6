#!/bin/bash
# pd-test: severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --speculative-config '{"method": "mtp", "num_speculative_tokens": 0}'
