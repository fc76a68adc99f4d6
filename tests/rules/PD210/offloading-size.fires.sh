# pd-test: target=vllm==0.20.2 line=2 severity=error
vllm serve /models/m --tensor-parallel-size 4 --decode-context-parallel-size 2 --kv-offloading-size 8
