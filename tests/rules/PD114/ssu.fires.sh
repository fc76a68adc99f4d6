# pd-test: target=vllm==0.32.0
vllm serve m --mamba-ssu-algorithm simple
