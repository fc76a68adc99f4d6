vllm serve /models/m --served-model-name m --port 8088
