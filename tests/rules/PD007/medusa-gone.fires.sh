#!/bin/bash
# pd-test: target=vllm==0.33.0 severity=error
VLLM_USE_RAY_COMPILED_DAG_CHANNEL_TYPE=nccl vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2 --kv-cache-dtype float16 --dtype bfloat16 --enable-sleep-mode \
  --speculative-config '{"method":"medusa","num_speculative_tokens":3,"model":"x/medusa"}' \
  --kv-transfer-config '{"kv_connector":"MultiConnector","kv_role":"kv_consumer","kv_connector_extra_config":{"connectors":[{"kv_connector":"NixlConnector","kv_role":"kv_consumer"},{"kv_connector":"SimpleCPUOffloadConnector","kv_role":"kv_consumer","kv_connector_extra_config":{"cpu_bytes_to_use":17179869184,"num_cpu_blocks":2048}}]}}'
