#!/bin/bash
docker run --gpus all --shm-size=16g --net=host \
  -v /usr/local/Ascend/driver:/usr/local/Ascend/driver \
  quay.io/ascend/vllm-ascend:v0.25.1rc1 \
  vllm serve /models/m --tensor-parallel-size 2
