# pd-test: target=vllm==0.23.0
vllm serve /models/m \
  --tensor-parallel-size 2 \
  --kv-offloading-size 64
