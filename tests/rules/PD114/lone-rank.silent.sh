# pd-test: target=vllm==0.32.0
vllm serve /models/m --data-parallel-size 2 --data-parallel-rank 0 --data-parallel-address 127.0.0.1
