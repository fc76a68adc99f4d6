# pd-test: target=vllm==0.32.0 severity=error line=2
vllm serve /models/m --enable-eplb --data-parallel-size 2
