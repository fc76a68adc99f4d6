# pd-test: target=vllm==0.30.0 line=3
export VLLM_NIXL_SIDE_CHANNEL_HOST=192.0.2.3
vllm serve Qwen/Qwen3-8B --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"backend": ["UCX"]}}'
