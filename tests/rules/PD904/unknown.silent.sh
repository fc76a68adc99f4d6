# pd-test: target=0.30.0rc2
vllm serve /models/m
