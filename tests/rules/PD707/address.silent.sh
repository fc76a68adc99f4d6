#!/bin/bash
export HCCL_IF_IP=192.0.2.11
vllm serve /models/m
