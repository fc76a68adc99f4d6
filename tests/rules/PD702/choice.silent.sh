#!/bin/bash
# pd-test: target=0.26.0rc1
export VLLM_ASCEND_ENABLE_FUSED_MC2=1
vllm serve /models/m
