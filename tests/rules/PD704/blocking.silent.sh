#!/bin/bash
# pd-test: target=0.25.1rc1
export ASCEND_LAUNCH_BLOCKING=1
vllm serve /models/m --enforce-eager
