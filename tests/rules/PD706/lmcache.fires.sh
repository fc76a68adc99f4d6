#!/bin/bash
# pd-test: target=vllm==0.32.0 severity=warning
vllm serve /models/m --tensor-parallel-size 2 \
  --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
