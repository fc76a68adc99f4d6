# pd-test: target=vllm==0.32.0
vllm serve m --max-num-batched-tokens 0
