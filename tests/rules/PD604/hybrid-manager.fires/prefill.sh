#!/bin/bash
vllm serve openai/gpt-oss-20b \
  --disable-hybrid-kv-cache-manager \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
