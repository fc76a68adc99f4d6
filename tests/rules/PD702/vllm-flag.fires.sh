#!/bin/bash
# pd-test: target=vllm==0.32.0 line=3 severity=error
export VLLM_USE_V2_MODEL_RUNNER=yes
vllm serve /models/m
