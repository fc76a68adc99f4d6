#!/bin/bash
# pd-test: line=3 severity=error target=0.25.1rc1
export GLOO_SOCKET_IFNAME=^lo,docker
vllm serve /models/m
