# pd-test: target=vllm==0.32.0
vllm serve m --enable-lora --max-cpu-loras 0
