vllm serve /models/GLM-5.2-w8a8 --served-model-name glm-5 --port 8077
