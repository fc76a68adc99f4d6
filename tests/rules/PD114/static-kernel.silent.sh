#!/bin/bash
# pd-test: target=0.25.1rc1
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"ascend_compilation_config": {"enable_static_kernel": true}}'
