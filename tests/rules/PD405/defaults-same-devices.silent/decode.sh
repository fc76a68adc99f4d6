CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-8B --port 8200 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
