#!/bin/bash
export TP_SOCKET_IFNAME=enp
vllm serve /models/m --data-parallel-size 2
