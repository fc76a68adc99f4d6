#!/bin/bash
# pd-test: severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --compilation-config '{"cudagraph_mode": "DECODE_ONLY"}'
