# pd-test: target=vllm==0.32.0
vllm serve m --distributed-executor-backend x
