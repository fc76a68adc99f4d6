#!/bin/bash
# pd-test: target=0.25.1rc1 line=3 severity=warning
export ASCEND_GLOBAL_RESOURCE_CONFIG='{a.b: [1]}'
vllm serve /models/m
