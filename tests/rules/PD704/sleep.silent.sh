#!/bin/bash
# pd-test: target=0.25.1rc1
export PYTORCH_NPU_ALLOC_CONF=max_split_size_mb:256
vllm serve /models/m --enable-sleep-mode
