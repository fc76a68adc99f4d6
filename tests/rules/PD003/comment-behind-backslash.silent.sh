vllm serve /models/Qwen3-8B \
  --port 8000 # the first node
