# pd-test: target=vllm==0.32.0
vllm serve /models/m --kv-transfer-config '{"kv_role": "kv_both"}' --kv-offloading-size 4
