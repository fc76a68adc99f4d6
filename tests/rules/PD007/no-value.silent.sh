# pd-test: target=vllm==0.32.0
vllm serve /models/m --load-format auto --hf-token --enforce-eager
