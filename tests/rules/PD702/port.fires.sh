#!/bin/bash
# pd-test: target=vllm==0.32.0 line=3 severity=error
export VLLM_NIXL_SIDE_CHANNEL_PORT=70000
vllm serve /models/m
