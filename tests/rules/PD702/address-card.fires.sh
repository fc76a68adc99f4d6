#!/bin/bash
# pd-test: line=3 severity=error target=0.25.1rc1
export HCCL_IF_IP=eth0
vllm serve /models/m
