# pd-test: target=vllm==0.32.0
vllm serve m --numa-bind --numa-bind-nodes 0
