#!/bin/bash
# pd-test: target=0.25.1rc1
export HCCL_SOCKET_IFNAME=^lo
vllm serve /models/m
