# pd-test: target=vllm==0.32.0 severity=info
vllm serve /models/m \
  --cpu-offload-gb 16
