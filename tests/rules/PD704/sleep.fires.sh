#!/bin/bash
# pd-test: target=0.25.1rc1 line=3
export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
vllm serve /models/m --enable-sleep-mode
