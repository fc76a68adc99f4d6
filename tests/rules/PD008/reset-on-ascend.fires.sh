#!/bin/bash
# pd-test: target=0.23.0 severity=warning line=4
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --enable-dbo
