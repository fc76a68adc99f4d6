#!/bin/bash
# pd-test: target=vllm==0.32.0
export VLLM_WORKER_MULTIPROC_METHOD=spawn
vllm serve /models/m
