# pd-test: severity=warning line=2
vllm serve Qwen/Qwen3-Reranker-0.6B --runner pooling --hf-overrides '{"architectures": ["Qwen3VLForSequenceClassification"]}'
