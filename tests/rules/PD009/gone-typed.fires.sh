#!/bin/bash
# pd-test: target=0.27.1rc1 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"layer_sharding": ["o_proj"]}'
