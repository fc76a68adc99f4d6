#!/bin/bash
# pd-test: target=0.25.1rc1 line=3 severity=warning
export ASCEND_ENABLE_USE_FABRIC_MEM=true
vllm serve /models/m
