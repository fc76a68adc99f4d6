# pd-test: target=vllm==0.32.0
vllm serve /models/m --model-loader-extra-config x
