#!/bin/bash
# pd-test: target=vllm==0.32.0 severity=error line=4
vllm serve Qwen/Qwen3-8B \
  --kv-transfer-config '{"kv_connector": "NixlConnector"}'
