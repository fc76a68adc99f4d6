vllm serve /models/Qwen3-8B --port 8000 --tensor-parallel-size 2
cut -d \  -f 1 /etc/hosts
