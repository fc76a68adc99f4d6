# pd-test: target=vllm==0.33.0
export MC_INTRANODE_NVLINK=1
vllm serve Qwen/Qwen3-8B --enable-sleep-mode --kv-transfer-config '{"kv_connector":"MooncakeConnector","kv_role":"kv_consumer"}'
