# pd-test: target=vllm==0.21.0
vllm serve /models/m --tensor-parallel-size 4 --decode-context-parallel-size 2 --kv-offloading-size 8
