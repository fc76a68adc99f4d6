#!/bin/bash
# pd-test: target=0.25.1rc1 line=3 severity=warning
export DYNAMIC_EPLB=yes
vllm serve /models/m
