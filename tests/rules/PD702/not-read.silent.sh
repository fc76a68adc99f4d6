#!/bin/bash
# pd-test: target=0.28.0
export VLLM_ASCEND_ENABLE_FUSED_MC2=true
vllm serve /models/m
