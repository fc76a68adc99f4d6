#!/bin/bash
# pd-test: target=0.25.1rc1
export VLLM_FUSED_MC2=1
vllm serve /models/m
