#!/bin/bash
# pd-test: target=0.25.1rc1 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  -pp 2 \
  --additional-config '{"xlite_graph_config": {"enabled": true}}'
