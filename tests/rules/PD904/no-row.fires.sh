# pd-test: target=vllm==0.99.0 line=2
vllm serve /models/m
