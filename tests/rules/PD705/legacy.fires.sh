#!/bin/bash
# pd-test: target=0.23.0 line=3
export VLLM_USE_V1=1
vllm serve /models/m
