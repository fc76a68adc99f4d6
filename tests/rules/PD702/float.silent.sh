#!/bin/bash
# pd-test: target=vllm==0.32.0
export VLLM_LOG_STATS_INTERVAL=10.5
vllm serve /models/m
