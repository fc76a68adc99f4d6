# pd-test: target=vllm==0.32.0
vllm serve /models/m --tensor-parallel-size 4 --prefill-context-parallel-size 2 --decode-context-parallel-size 4
