#!/bin/bash
# pd-test: target=0.25.1rc1
export ASCEND_RT_VISIBLE_DEVICES=1,2
vllm serve /models/m --tensor-parallel-size 2
