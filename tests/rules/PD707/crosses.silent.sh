#!/bin/bash
export HCCL_IF_IP=192.168.1.1
vllm serve /models/m
