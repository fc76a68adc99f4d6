#!/bin/bash
# pd-test: target=vllm:0.32.0 severity=error
vllm serve Qwen/Qwen3-8B --block-size 128 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer", "kv_buffer_device": "cpu"}'
