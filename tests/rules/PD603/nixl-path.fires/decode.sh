#!/bin/bash
# pd-test: target=vllm:0.32.0 severity=error
vllm serve /data/weights/Qwen3-8B --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
