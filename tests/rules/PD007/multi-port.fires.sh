# pd-test: target=vllm:0.32.0 severity=error line=2
vllm serve /models/m --port 65533 --data-parallel-size 4 --data-parallel-size-local 4 --data-parallel-multi-port-external-lb
