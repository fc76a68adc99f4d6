# pd-test: target=vllm==0.32.0
vllm serve /models/m --data-parallel-multi-port-external-lb --data-parallel-size 2 --data-parallel-size-local 2
