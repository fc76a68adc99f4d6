#!/bin/bash
# pd-test: target=0.26.0rc1
export HCCL_IF_IP=192.0.2.11
vllm serve /models/DeepSeek-V4-Flash-w8a8 \
  --block-size 64
