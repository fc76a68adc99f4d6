#!/bin/bash
# pd-test: target=0.25.1rc1 line=3
export ASCEND_RT_VISIBLE_DEVICES=3,4
vllm serve /models/m --tensor-parallel-size 2
