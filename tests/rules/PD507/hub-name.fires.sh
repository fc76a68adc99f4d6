# pd-test: target=vllm==0.30.0 line=2
vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --max-model-len 256k
