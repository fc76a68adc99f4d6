#!/bin/bash
# pd-test: target=0.23.0
export VLLM_USE_MODELSCOPE=1
vllm serve /models/m
