#!/bin/bash
# pd-test: target=0.26.0rc1
vllm serve deepseek-ai/DeepSeek-V3.2 \
  --additional-config '{"sparse_kv_offload_config": {"enabled": true, "keep_device_kv_cache": true}}'
