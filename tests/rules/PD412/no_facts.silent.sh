#!/bin/bash
export GLOO_SOCKET_IFNAME=eth0
vllm serve /models/m --data-parallel-size 2
