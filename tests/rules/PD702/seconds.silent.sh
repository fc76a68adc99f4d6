#!/bin/bash
# pd-test: target=vllm==0.32.0
export VLLM_ENGINE_READY_TIMEOUT_S=600
vllm serve /models/m
