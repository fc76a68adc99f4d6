#!/bin/bash
docker run -d --net=host -e HCCL_IF_IP=192.0.2.11 quay.io/ascend/vllm-ascend:v0.26.0rc1-a3 \
  vllm serve /models/m --port 8101
