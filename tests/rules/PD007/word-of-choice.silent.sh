# pd-test: target=vllm==0.32.0
vllm serve /models/m --dtype bfloat16 --moe-backend AUTO
