# pd-test: target=vllm==0.32.0 line=2
vllm serve Qwen/Qwen3.5-27B --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
