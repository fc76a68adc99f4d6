#!/bin/bash
# pd-test: target=0.25.1rc1
export GLOO_SOCKET_IFNAME=eth0
vllm serve /models/m
