# pd-test: target=vllm:0.32.0
CUDA_VISIBLE_DEVICES=0,1 VLLM_NIXL_SIDE_CHANNEL_PORT=5600 vllm serve deepseek-ai/DeepSeek-V2-Lite --port 8000 \
  --data-parallel-size 4 --data-parallel-size-local 2 --data-parallel-start-rank 0 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}' &
CUDA_VISIBLE_DEVICES=2,3 VLLM_NIXL_SIDE_CHANNEL_PORT=5610 vllm serve deepseek-ai/DeepSeek-V2-Lite --headless \
  --data-parallel-size 4 --data-parallel-size-local 2 --data-parallel-start-rank 0 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}' &
