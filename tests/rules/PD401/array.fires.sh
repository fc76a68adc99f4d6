# pd-test: target=vllm:0.27.1
G=(0 0)
P=(8100 8200)
for i in "${!G[@]}"; do
  export VLLM_NIXL_SIDE_CHANNEL_PORT=$((5600 + i))
  CUDA_VISIBLE_DEVICES=${G[$i]} vllm serve Qwen/Qwen3-8B --port ${P[$i]} --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}' &
done
