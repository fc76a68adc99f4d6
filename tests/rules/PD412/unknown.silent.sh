#!/bin/bash
export GLOO_SOCKET_IFNAME=$1
vllm serve /models/m --data-parallel-size 2
