#!/bin/bash
# pd-test: target=0.25.1rc1 line=3 severity=warning
export ASCEND_RT_VISIBLE_DEVICES=0-7
vllm serve /models/m
