#!/bin/bash
# pd-test: severity=error line=4
vllm serve /models/deepseek-v3.1-w8a8 \
  --port 8101
