# pd-test: target=vllm==0.27.1
vllm serve /models/m --quantization-config '{"moe": {"activation": "mxfp8"}}'
