#!/bin/bash
# pd-test: target=0.25.1rc1
export DYNAMIC_EPLB=true
vllm serve /models/m
