#!/bin/bash
vllm serve Qwen/Qwen3-8B \
  --disable-hybrid-kv-cache-manager \
  --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}'
