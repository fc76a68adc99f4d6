#!/bin/bash
# pd-test: target=0.25.1rc1
export ASCEND_ENABLE_USE_FABRIC_MEM=1
vllm serve /models/m
