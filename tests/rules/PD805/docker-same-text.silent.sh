# docker takes two of the same text as one
docker run --rm --shm-size=16g -v /data/a:/models -v /data/a:/models vllm/vllm-openai:v0.32.0 --model /models/m
