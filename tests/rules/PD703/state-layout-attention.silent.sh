# pd-test: target=vllm==0.32.0
vllm serve Qwen/Qwen3-32B --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
