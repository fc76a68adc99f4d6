# pd-test: target=vllm:0.32.0
CUDA_VISIBLE_DEVICES=0,1 VLLM_NIXL_SIDE_CHANNEL_PORT=5600 vllm serve Qwen/Qwen3-8B --port 8100 -tp 2 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}' &
CUDA_VISIBLE_DEVICES=1,2 VLLM_NIXL_SIDE_CHANNEL_PORT=5601 vllm serve Qwen/Qwen3-8B --port 8200 -tp 2 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}' &
