#!/bin/bash
# pd-test: target=0.25.1rc1 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"dump_config": {"a": 1}, "dump_config_path": "/x.json"}'
