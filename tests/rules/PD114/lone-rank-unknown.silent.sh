# pd-test: target=vllm==0.32.0
vllm serve /models/m --data-parallel-rank 0 --data-parallel-size $N
