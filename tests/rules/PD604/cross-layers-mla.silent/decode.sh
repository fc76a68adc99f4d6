#!/bin/bash
# pd-test: target=vllm==0.28.0
vllm serve deepseek-ai/DeepSeek-V3 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"enable_cross_layers_blocks": true}}'
