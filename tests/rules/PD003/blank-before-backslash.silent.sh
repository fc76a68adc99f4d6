vllm serve /models/Qwen3-8B \
  --port 8000 \
  --served-model-name Qwen\ 3 \
  --tensor-parallel-size 2
