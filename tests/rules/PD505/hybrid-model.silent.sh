#!/bin/bash
export HCCL_IF_IP=192.0.2.11
vllm serve Eco-Tech/Qwen3.5-397B-A17B-w8a8-mtp \
  --block-size 64
