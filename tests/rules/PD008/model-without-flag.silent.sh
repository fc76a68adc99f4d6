# pd-test: target=0.23.0
python -m vllm.entrypoints.openai.api_server --model /models/Qwen3-8B --port 8000
vllm serve /models/Qwen3-8B --port 8001
