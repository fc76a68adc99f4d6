#!/bin/bash
# pd-test: target=vllm==0.32.0
export VLLM_USE_V2_MODEL_RUNNER=1
vllm serve /models/m
