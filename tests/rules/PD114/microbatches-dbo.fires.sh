# pd-test: target=vllm==0.32.0
vllm serve /models/m --enable-dbo --all2all-backend allgather_reducescatter
