#!/bin/bash
export VLLM-ASCEND_ENABLE_FUSED_MC2=1
vllm serve /models/m
