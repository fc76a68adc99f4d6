# pd-test: target=vllm==0.33.0
vllm serve Qwen/Qwen3-8B --dtype $DTYPE --kv-cache-dtype float16
