#!/bin/bash
export HCCL_SOCKET_IFNAME=eth
vllm serve /models/m --data-parallel-size 2
