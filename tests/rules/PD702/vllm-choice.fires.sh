#!/bin/bash
# pd-test: target=vllm==0.32.0 line=3 severity=error
export VLLM_WORKER_MULTIPROC_METHOD=thread
vllm serve /models/m
