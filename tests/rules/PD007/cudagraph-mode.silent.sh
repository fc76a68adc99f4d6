#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --compilation-config '{"cudagraph_mode": "full_decode_only"}'
