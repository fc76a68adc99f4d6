vllm serve /models/GLM-5.2-w8a8 --served-model-name "$NAME" --port 8077
