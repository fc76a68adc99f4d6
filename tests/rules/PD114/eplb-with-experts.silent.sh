# pd-test: target=vllm==0.32.0
vllm serve /models/m --enable-eplb --enable-expert-parallel --data-parallel-size 2
