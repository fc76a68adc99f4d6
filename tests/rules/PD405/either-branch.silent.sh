#!/bin/bash
export HCCL_IF_IP=192.0.2.11
if [ "$1" = a ]; then
  ASCEND_RT_VISIBLE_DEVICES=0,1 vllm serve /models/m --tensor-parallel-size 2 --port 8100
else
  ASCEND_RT_VISIBLE_DEVICES=0,1 vllm serve /models/m --tensor-parallel-size 2 --port 8100
fi
