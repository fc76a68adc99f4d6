#!/bin/bash
# pd-test: target=vllm==0.18.0
export VLLM_RPC_TIMEOUT=3600000
vllm serve /models/m
