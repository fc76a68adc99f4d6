vllm serve Qwen/Qwen3-Reranker-0.6B --hf-overrides '{"architectures": ["Qwen3ForSequenceClassification"]}' --port 8001 &
vllm serve Qwen/Qwen3-VL-Reranker-2B --hf-overrides '{"architectures": ["Qwen3VLForSequenceClassification"]}' --port 8002 &
vllm serve /models/m --hf-overrides '{"architectures": ["Qwen3VLForSequenceClassification"]}' --port 8003 &
vllm serve Qwen/Qwen2.5-VL-7B-Instruct --hf-overrides '{"architectures": ["Qwen2_5_VLForConditionalGeneration"]}' --port 8004 &
vllm serve Qwen/Qwen3-Omni-30B --hf-overrides '{"architectures": ["Qwen3VLForConditionalGeneration"]}' --port 8005 &
vllm serve BAAI/bge-m3 --hf-overrides '{"architectures": ["BgeM3EmbeddingModel"]}' --port 8006 &
