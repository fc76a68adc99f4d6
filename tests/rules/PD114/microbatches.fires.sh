# pd-test: target=vllm==0.32.0
vllm serve /models/m --ubatch-size 2
