# pd-test: target=vllm==0.19.0 line=2
vllm serve /models/m --kv-transfer-config '{"kv_port": 36k}'
