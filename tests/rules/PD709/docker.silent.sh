# pd-test: target=vllm==0.32.0
NCCL_DEBUG=INFO
docker run --gpus all vllm/vllm-openai:v0.32.0 --model /models/m
