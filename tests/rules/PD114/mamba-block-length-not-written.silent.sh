# pd-test: target=vllm==0.32.0
vllm serve /models/m --mamba-block-size 256 --no-enable-prefix-caching
