#!/bin/bash
# pd-test: target=0.25.1rc1 severity=warning
export ASCEND_RT_VISIBLE_DEVICES=0,1
vllm serve /models/m --tensor-parallel-size 2
