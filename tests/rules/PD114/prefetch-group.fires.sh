# pd-test: target=vllm==0.32.0
vllm serve /models/m --offload-group-size 4 --offload-num-in-group 5
