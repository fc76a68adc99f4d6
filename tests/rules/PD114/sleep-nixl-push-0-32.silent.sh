# pd-test: target=vllm==0.32.0
vllm serve Qwen/Qwen3-8B --enable-sleep-mode --kv-transfer-config '{"kv_connector":"NixlPushConnector","kv_role":"kv_consumer"}'
