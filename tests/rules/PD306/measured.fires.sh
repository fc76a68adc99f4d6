# pd-test: target=0.23.0 severity=error
vllm serve /models/m \
  --tensor-parallel-size 8 \
  --data-parallel-size 2
