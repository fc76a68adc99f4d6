#!/bin/bash
# pd-test: line=3
export HCCL_BUFFER_SIZE=1024
vllm serve /models/m
