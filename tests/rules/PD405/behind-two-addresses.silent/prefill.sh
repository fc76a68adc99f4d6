# pd-test: target=vllm==0.32.0
export VLLM_NIXL_SIDE_CHANNEL_PORT=5557
export CUDA_VISIBLE_DEVICES=0,1,2,3
vllm serve /models/m --port 8000 --data-parallel-size 4 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
