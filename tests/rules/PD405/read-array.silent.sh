# pd-test: target=vllm:0.27.1
GPUS=0,1
PORTS=8100,8200
IFS=',' read -ra G <<< "$GPUS"
IFS=',' read -ra P <<< "$PORTS"
for i in "${!G[@]}"; do
  export VLLM_NIXL_SIDE_CHANNEL_PORT=$((5600 + i))
  CUDA_VISIBLE_DEVICES=${G[$i]} vllm serve Qwen/Qwen3-8B --port ${P[$i]} --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}' &
done
