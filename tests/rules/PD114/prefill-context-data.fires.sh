# pd-test: target=0.23.0 line=2
vllm serve /models/DeepSeek-V3.1 --tensor-parallel-size 8 --prefill-context-parallel-size 2 \
  --data-parallel-size 2 --enable-expert-parallel
