#!/bin/bash
docker run --runtime=ascend --net=host --shm-size=16g -v /data/models:/models quay.io/ascend/vllm-ascend:v0.25.1rc1 vllm serve /models/m
