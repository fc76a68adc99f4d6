#!/bin/bash
# pd-test: target=vllm:0.32.0 severity=warning
vllm serve Qwen/Qwen3-8B --block-size 128 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
