# pd-test: target=vllm==0.32.0
vllm serve /models/m --nnodes 2 --tensor-parallel-size 3
