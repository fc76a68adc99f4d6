#!/bin/bash
# pd-test: target=vllm==0.32.0
vllm serve Qwen/Qwen3-30B-A3B \
  --enable-dbo
