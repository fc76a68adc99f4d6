# pd-test: severity=error line=5
vllm serve /models/Qwen3-8B \
  --tensor-parallel-size 2 \
  --port 8000 \
curl http://localhost:8000/v1/models
