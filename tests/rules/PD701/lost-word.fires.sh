#!/bin/bash
# pd-test: target=0.25.1rc1 line=3
export VLLM_ASCEND_FUSED_MC2=1
vllm serve /models/m
