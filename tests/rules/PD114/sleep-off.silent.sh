# pd-test: target=vllm==0.33.0
vllm serve Qwen/Qwen3-8B --no-enable-sleep-mode --kv-transfer-config '{"kv_connector":"NixlPushConnector","kv_role":"kv_consumer"}'
