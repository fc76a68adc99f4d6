#!/bin/bash
export HCCL_IF_IP=192.0.2.11
vllm serve /models/deepseek-v3.1-w8a8 \
  --tensor-parallel-size 8 --decode-context-parallel-size 8 --block-size 128
