# pd-test: target=0.23.0
vllm serve /models/m --enable-expert-parallel
