#!/bin/bash
# pd-test: target=vllm==0.21.0 line=3 severity=error
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
