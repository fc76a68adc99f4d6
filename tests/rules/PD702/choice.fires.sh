#!/bin/bash
# pd-test: target=0.26.0rc1 line=3 severity=error
export VLLM_ASCEND_ENABLE_FUSED_MC2=2
vllm serve /models/m
