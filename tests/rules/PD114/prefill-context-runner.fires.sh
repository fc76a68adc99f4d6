# pd-test: target=0.27.1rc1 line=2
vllm serve /models/DeepSeek-V3.1 --tensor-parallel-size 8 --prefill-context-parallel-size 2 --enable-expert-parallel
