vllm serve /models/Qwen3-8B \
  --tensor-parallel-size 2 \
  --port 8000 \

curl http://localhost:8000/v1/models
vllm serve \
  --port 8001 \
  /models/Qwen3-8B
