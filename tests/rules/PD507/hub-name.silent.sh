# pd-test: target=vllm==0.30.0
vllm serve /models/Qwen3-32B --tensor-parallel-size 4 --max-model-len 256k
