#!/bin/bash
# pd-test: target=0.18.0 severity=warning line=4
vllm serve /models/qwen3.5-397b-a17b-w8a8 \
  --enable-prefix-caching \
  --mamba-cache-mode align \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
