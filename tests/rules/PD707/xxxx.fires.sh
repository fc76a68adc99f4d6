#!/bin/bash
# pd-test: line=3 severity=warning
export MOONCAKE_CONFIG_PATH=xxxx
vllm serve /models/m
