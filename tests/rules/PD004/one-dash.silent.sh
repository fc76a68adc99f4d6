# pd-test: target=vllm==0.32.0
vllm serve /models/m -tp 2 -t 2 -dp=2 -qfp8 -O3
