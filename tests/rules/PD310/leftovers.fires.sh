# pd-test: target=0.26.0rc1 severity=warning
vllm serve /models/m \
  --tensor-parallel-size 8
