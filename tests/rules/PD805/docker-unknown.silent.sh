docker run --rm --shm-size=16g -v /data/a:$ONE -v /data/b:$TWO vllm/vllm-openai:v0.32.0 --model /models/m
