# pd-test: target=vllm==0.23.0 severity=warning
vllm serve /models/m \
  --tensor-parallel-size 2 \
  --kv-offloading-size 80
