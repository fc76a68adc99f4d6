#!/bin/bash
# pd-test: target=0.25.1rc1
export HCCL_BUFFSIZE=1024
vllm serve /models/m
