#!/bin/bash
# pd-test: line=3
export HCCL_OP_EXPANSION_MOD=AIV
vllm serve /models/m
