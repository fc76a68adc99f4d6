#!/bin/bash
# pd-test: line=3 severity=error target=0.25.1rc1
export GLOO_SOCKET_IFNAME=192.0.2.11
vllm serve /models/m
