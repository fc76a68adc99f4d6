#!/bin/bash
# pd-test: target=0.25.1rc1
export VLLM_ASCEND_ENABLE_MLAPO=$1
vllm serve /models/m
