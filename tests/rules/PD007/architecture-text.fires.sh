# pd-test: severity=warning line=2
vllm serve Qwen/Qwen3-VL-Reranker-2B --runner pooling --hf-overrides '{"architectures": ["Qwen3ForSequenceClassification"]}'
