#!/bin/bash
# pd-test: target=0.23.0
export VLLM_ASCEND_ENABLE_FUSED_MC2=2
vllm serve /models/m
