#!/bin/bash
# pd-test: target=0.28.0rc1 line=3 severity=info
export VLLM_ASCEND_FUSION_OP_TRANSPOSE_KV_CACHE_BY_BLOCK=0
vllm serve /models/m
