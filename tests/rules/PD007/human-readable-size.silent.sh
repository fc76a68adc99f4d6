# pd-test: target=vllm==0.32.0
vllm serve /models/m --max-model-len 25.6k --max-num-batched-tokens 8K --kv-cache-memory-bytes 16G
