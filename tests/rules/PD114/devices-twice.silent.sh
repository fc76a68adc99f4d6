# pd-test: target=vllm==0.32.0
vllm serve /models/m --device-ids 0,1 --tensor-parallel-size 2
