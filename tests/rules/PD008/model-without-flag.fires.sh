# pd-test: target=0.23.0 severity=warning line=2
python -m vllm.entrypoints.openai.api_server /models/Qwen3-8B --port 8000
