# pd-test: target=vllm:0.18.0 severity=info line=3
vllm serve /models/Qwen3-8B \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer", "kv_rank": 0, "kv_parallel_size": 2}'
