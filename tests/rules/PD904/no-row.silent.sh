# pd-test: target=vllm==0.99.0
vllm serve /models/m
