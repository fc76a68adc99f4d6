#!/bin/bash
# pd-test: target=0.23.0
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"layer_sharding": ["o_proj"]}'
