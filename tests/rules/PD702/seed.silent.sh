#!/bin/bash
# pd-test: target=0.25.1rc1
export PYTHONHASHSEED=0
vllm serve /models/m
