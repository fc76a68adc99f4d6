# pd-test: target=vllm==0.27.1
vllm serve /models/m \
  --tensor-parallel-size 2 \
  --kv-offloading-size 80
