#!/bin/bash
# pd-test: line=3 severity=error
vllm serve Qwen/Qwen3-8B --port 8200 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
