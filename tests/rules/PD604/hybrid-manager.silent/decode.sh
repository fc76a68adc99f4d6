#!/bin/bash
# pd-test: target=vllm==0.32.0
vllm serve openai/gpt-oss-20b \
  --no-disable-hybrid-kv-cache-manager \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
