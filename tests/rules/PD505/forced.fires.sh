#!/bin/bash
# pd-test: severity=warning line=5
export HCCL_IF_IP=192.0.2.11
vllm serve /models/deepseek-v3.1-w8a8 \
  --block-size 64
