# pd-test: severity=error line=2
vllm serve /models/Qwen3-8B \ \
  --port 8000 \
  --tensor-parallel-size 2
