# pd-test: target=0.23.0.post1
vllm serve /models/m
