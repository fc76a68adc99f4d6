# pd-test: target=vllm==0.33.0 severity=error
vllm serve Qwen/Qwen3-8B --dtype bfloat16 --kv-cache-dtype float16
