#!/bin/bash
# pd-test: target=0.25.1rc1 line=3 severity=error
export VLLM_ASCEND_ENABLE_MLAPO=true
vllm serve /models/m
