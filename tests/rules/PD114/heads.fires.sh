# pd-test: target=vllm==0.32.0
vllm serve deepseek-ai/DeepSeek-V4-Flash --tensor-parallel-size 12 --enable-expert-parallel
