# pd-test: target=vllm==0.21.0
vllm serve Qwen/Qwen3.5-27B --kv-offloading-size 16
