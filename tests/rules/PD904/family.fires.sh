# pd-test: target=vllm==0.30.0 line=2
vllm serve /models/m
