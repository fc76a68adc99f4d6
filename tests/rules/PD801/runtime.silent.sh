#!/bin/bash
docker run --rm --shm-size=16g --net=host \
  --runtime=ascend \
  quay.io/ascend/vllm-ascend:v0.25.1rc1 \
  vllm serve /models/m --tensor-parallel-size 2
