python -m dynamo.vllm --model m --disaggregation-mode decode --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}' &
VLLM_NIXL_SIDE_CHANNEL_PORT=20097 python -m dynamo.vllm --model m --disaggregation-mode prefill --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}' &
