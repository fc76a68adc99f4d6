#!/bin/bash
# pd-test: target=vllm==0.32.0
export VLLM_NIXL_SIDE_CHANNEL_PORT=5600
vllm serve /models/m
