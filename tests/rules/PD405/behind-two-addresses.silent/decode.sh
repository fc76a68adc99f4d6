export VLLM_NIXL_SIDE_CHANNEL_PORT=5558
export CUDA_VISIBLE_DEVICES=4,5,6,7
vllm serve /models/m --port 8001 --data-parallel-size 4 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
