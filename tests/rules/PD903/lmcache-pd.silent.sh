#!/bin/bash
# pd-test: target=vllm==0.26.0
export PYTHONHASHSEED=0
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
