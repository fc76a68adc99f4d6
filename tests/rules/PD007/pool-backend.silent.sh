#!/bin/bash
# pd-test: target=0.25.1rc1
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"backend": "memcache"}}'
