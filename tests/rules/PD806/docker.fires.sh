# pd-test: target=vllm==0.32.0
docker run --gpus '"device=0"' -p 8000:8001 vllm/vllm-openai:v0.32.0 --model Qwen/Qwen3-8B --port 8000 --tensor-parallel-size 2
