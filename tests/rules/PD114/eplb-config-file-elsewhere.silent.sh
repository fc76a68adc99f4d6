# pd-test: target=vllm==0.32.0
vllm serve /models/m --config elsewhere.yaml --enable-eplb --data-parallel-size 2
