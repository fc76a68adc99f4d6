#!/bin/bash
# pd-test: severity=warning line=3
vllm serve /models/m --max-num-seqs 12 \
  --compilation-config '{"cudagraph_mode": "FULL_DECODE_ONLY"}' \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
