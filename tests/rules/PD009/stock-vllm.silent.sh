#!/bin/bash
# pd-test: target=vllm==0.32.0
vllm serve Qwen/Qwen3-8B \
  --additional-config '{"anything": 1}'
