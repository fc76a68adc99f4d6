# pd-test: target=vllm==0.18.0
vllm serve /models/m --enable-mfu-metrics
