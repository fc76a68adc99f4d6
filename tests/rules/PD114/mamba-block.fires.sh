# pd-test: target=vllm==0.32.0 severity=error
vllm serve /models/m --mamba-block-size 256 --max-model-len 4096 --no-enable-prefix-caching
