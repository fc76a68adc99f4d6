# pd-test: target=vllm==0.23.0 line=2
vllm serve /models/m --enable-scale-out
