# pd-test: target=0.32.0

vllm serve /models/m --port 8000
