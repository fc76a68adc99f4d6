# pd-test: target=vllm==0.32.0
vllm serve /models/m --eplb-config.window_size 8 --kv-transfer-config.kv_role kv_both
