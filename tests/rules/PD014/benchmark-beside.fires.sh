# pd-test: severity=info line=3
vllm serve /models/m --port 8000 &
vllm bench latency --model /models/m
