#!/bin/bash
# pd-test: target=vllm==0.32.0 line=3
export VLLM_RPC_TIMEOUT=3600000
vllm serve /models/m
