#!/bin/bash
# pd-test: target=vllm==0.20.2
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
