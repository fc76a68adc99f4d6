#!/bin/bash
# pd-test: target=vllm:0.32.0
vllm serve Qwen/Qwen3-8B --pipeline-parallel-size $PP --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
