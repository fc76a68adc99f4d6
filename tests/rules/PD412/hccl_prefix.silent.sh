#!/bin/bash
export HCCL_SOCKET_IFNAME=enp
vllm serve /models/m --data-parallel-size 2
