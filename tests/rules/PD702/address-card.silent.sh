#!/bin/bash
# pd-test: target=0.25.1rc1
export HCCL_IF_IP=192.0.2.11
vllm serve /models/m
