# pd-test: target=vllm==0.32.0
vllm serve /models/m --enable-lora --max-loras 4 --max-cpu-loras 2
