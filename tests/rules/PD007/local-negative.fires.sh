# pd-test: target=vllm==0.32.0
vllm serve m --data-parallel-size-local -1
