#!/bin/bash
export GLOO_SOCKET_IFNAME=enp67s0f0 TP_SOCKET_IFNAME=bond0,enp67s0f0
vllm serve /models/m --data-parallel-size 2
