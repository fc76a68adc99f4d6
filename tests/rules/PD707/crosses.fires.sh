#!/bin/bash
# pd-test: line=3 severity=warning
export HCCL_IF_IP=192.168.x.x
vllm serve /models/m
