# pd-test: target=vllm==0.33.0 line=2
vllm serve Qwen/Qwen3-8B --kv-transfer-config '{"kv_connector":"SimpleCPUOffloadConnector","kv_role":"kv_both","kv_connector_extra_config":{"cpu_bytes_to_usee":17179869184,"num_cpu_blocks":2048}}'
