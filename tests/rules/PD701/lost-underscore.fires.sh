#!/bin/bash
# pd-test: line=3
export HCCL_SOCKETIFNAME=eth0
vllm serve /models/m
