#!/bin/bash
# pd-test: target=0.25.1rc1
export ASCEND_RT_VISIBLE_DEVICES=0,1,2,3,4,5,6,7
vllm serve /models/m
