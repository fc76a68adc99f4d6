export VLLM_NIXL_SIDE_CHANNEL_HOST=192.0.2.7
CUDA_VISIBLE_DEVICES=1 vllm serve Qwen/Qwen3-8B --port 8200 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
