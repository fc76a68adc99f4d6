#!/bin/bash
# pd-test: target=0.28.0rc1
export VLLM_ASCEND_ENABLE_FUSED_MC2=true
vllm serve /models/m
