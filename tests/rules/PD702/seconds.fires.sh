#!/bin/bash
# pd-test: target=vllm==0.32.0 line=3 severity=error
export VLLM_ENGINE_READY_TIMEOUT_S=10m
vllm serve /models/m
