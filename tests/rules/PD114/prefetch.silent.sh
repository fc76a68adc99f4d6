# pd-test: target=vllm==0.32.0
vllm serve m --offload-backend prefetch --offload-group-size 2
