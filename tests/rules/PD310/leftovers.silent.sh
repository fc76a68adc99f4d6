# pd-test: target=0.26.0rc1
vllm serve /models/m \
  --tensor-parallel-size 8
