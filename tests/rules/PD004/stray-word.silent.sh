# pd-test: target=vllm==0.32.0
vllm serve --port 8000 /models/m --served-model-name a b
