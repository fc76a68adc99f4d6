#!/bin/bash
# pd-test: line=3 severity=warning
export HCCL_IF_IP=your_ip_here
vllm serve /models/m
