#!/bin/bash
# pd-test: target=vllm==0.32.0
docker run --rm --shm-size=16g --net=host \
  --gpus all \
  vllm/vllm-openai:v0.32.0 \
  vllm serve /models/m --tensor-parallel-size 2
