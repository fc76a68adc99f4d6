#!/bin/bash
# pd-test: target=0.25.1rc1 line=3 severity=warning
export HCCL_BUFFSIZE=1024MB
vllm serve /models/m
