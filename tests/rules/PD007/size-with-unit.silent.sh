# pd-test: target=vllm==0.32.0
vllm serve /models/m --kv-cache-memory-bytes 16G --max-model-len auto
