#!/bin/bash
# pd-test: target=vllm:0.32.0
vllm serve /data/weights/Qwen3-8B --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"enforce_handshake_compat": false}}'
