#!/bin/bash
export HCCL_IF_IP=192.0.2.11
ASCEND_RT_VISIBLE_DEVICES=6,7 vllm serve /models/deepseek-v3.1-w8a8 \
  --tensor-parallel-size 2
