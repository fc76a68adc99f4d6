vllm serve Qwen/Qwen3-4B --port 8089
