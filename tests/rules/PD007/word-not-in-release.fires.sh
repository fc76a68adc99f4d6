# pd-test: target=vllm==0.18.0 line=2
vllm serve /models/m --kv-cache-dtype nvfp4
