#!/bin/bash
vllm serve /models/deepseek-v3.1-w8a8 \
  --max-model-len 4096 --long-prefill-token-threshold 2048
