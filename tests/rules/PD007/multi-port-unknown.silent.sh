# pd-test: target=vllm:0.32.0
vllm serve /models/m --port $PORT --data-parallel-size 4 --data-parallel-size-local 4 --data-parallel-multi-port-external-lb
