# pd-test: target=vllm==0.32.0
export VLLM_SSM_CONV_STATE_LAYOUT=$LAYOUT
vllm serve Qwen/Qwen3.5-27B --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
