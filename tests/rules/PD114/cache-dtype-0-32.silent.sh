# pd-test: target=vllm==0.32.0
vllm serve Qwen/Qwen3-8B --dtype bfloat16 --kv-cache-dtype float16
