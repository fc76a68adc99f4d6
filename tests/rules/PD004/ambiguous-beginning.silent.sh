# pd-test: target=vllm==0.32.0
vllm serve /models/m --max-num-se 8 --max-num-batched 2048
