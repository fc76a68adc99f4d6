#!/bin/bash
# pd-test: target=vllm==0.31.0
vllm serve Qwen/Qwen3-8B \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_rank": 0, "kv_parallel_size": 2, "kv_ip": "192.0.2.1", "kv_buffer_size": 1000000000.0}'
