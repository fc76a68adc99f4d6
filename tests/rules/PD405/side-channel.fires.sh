#!/bin/bash
# pd-test: target=vllm==0.32.0
VLLM_NIXL_SIDE_CHANNEL_PORT=5600 vllm serve /models/m --port 8100 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}' &
VLLM_NIXL_SIDE_CHANNEL_PORT=5600 vllm serve /models/m --port 8200 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}' &
