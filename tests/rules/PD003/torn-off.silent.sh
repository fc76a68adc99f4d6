vllm serve /models/Qwen3-8B \
  --port 8000 \
  -tp 2
echo --port
