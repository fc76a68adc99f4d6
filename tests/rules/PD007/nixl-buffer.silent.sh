#!/bin/bash
# pd-test: target=vllm:0.32.0
vllm serve Qwen/Qwen3-8B --port 20005 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_buffer_device": "cpu"}'
