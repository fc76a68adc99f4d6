# pd-test: target=0.23.0 line=2
vllm serve /models/m --enable-scale-out
