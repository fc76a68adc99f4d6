#!/bin/bash
# pd-test: severity=error line=4
vllm serve /models/deepseek-v3.1-w8a8 \
  --max-model-len 32768 --max-num-batched-tokens 4096 --no-enable-chunked-prefill
