#!/bin/bash
# pd-test: target=vllm==0.30.0
vllm serve /models/deepseek-v3.1-w8a8 \
  --pipeline-parallel-size 2 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
