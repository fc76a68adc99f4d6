#!/bin/bash
# pd-test: target=0.25.1rc1 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --speculative-config '{"method": "mtp", "num_speculative_tokens": 3}' \
  --additional-config '{"xlite_graph_config": {"enabled": true}}'
