#!/bin/bash
# pd-test: target=0.25.1rc1 line=3 severity=error
export PYTHONHASHSEED=zero
vllm serve /models/m
