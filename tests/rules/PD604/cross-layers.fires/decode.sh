#!/bin/bash
# pd-test: severity=error target=vllm==0.28.0
vllm serve Qwen/Qwen3-8B \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"enable_cross_layers_blocks": true}}'
