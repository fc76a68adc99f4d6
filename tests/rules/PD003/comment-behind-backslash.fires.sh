# pd-test: severity=error line=3
vllm serve /models/Qwen3-8B \
  --port 8000 \ # the first node
  --tensor-parallel-size 2
