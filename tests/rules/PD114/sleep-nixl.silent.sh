# pd-test: target=vllm==0.33.0
vllm serve Qwen/Qwen3-8B --enable-sleep-mode --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}'
