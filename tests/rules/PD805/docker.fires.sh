# pd-test: severity=error line=2
docker run --rm --shm-size=16g -v /data/a:/models -v /data/b:/models/ vllm/vllm-openai:v0.32.0 --model /models/m
