# pd-test: target=vllm==0.32.0
vllm serve /models/deepseek-v3 --data-parallel-size 16 --data-parallel-hybrid-lb --data-parallel-size-local 8 --data-parallel-start-rank 8
