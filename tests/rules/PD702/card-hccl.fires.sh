#!/bin/bash
# pd-test: line=3 severity=warning target=0.25.1rc1
export HCCL_SOCKET_IFNAME=192.0.2.11
vllm serve /models/m
