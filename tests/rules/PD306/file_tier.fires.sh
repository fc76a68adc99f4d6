# pd-test: target=vllm==0.32.0
docker run --gpus all --shm-size=64g vllm/vllm-openai:v0.32.0 \
  --model Qwen/Qwen3-32B --tensor-parallel-size 2 --kv-offloading-size 80
