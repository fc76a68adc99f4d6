#!/bin/bash
# pd-test: target=0.25.1rc1
vllm serve deepseek-ai/DeepSeek-V3.1 \
  -pp 1 \
  --additional-config '{"xlite_graph_config": {"enabled": true}}'
