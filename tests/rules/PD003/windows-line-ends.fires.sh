#!/bin/bash
export HCCL_IF_IP=10.0.0.1
vllm serve /models/m --kv-cache-dtype fp8
