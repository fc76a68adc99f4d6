vllm serve /models/m --port 8000 &
vllm bench serve --model /models/m --port 8000 --num-prompts 10
