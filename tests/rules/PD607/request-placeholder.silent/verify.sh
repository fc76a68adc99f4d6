# pd-test: target=vllm==0.32.0
curl http://<node_ip>:8089/v1/chat/completions -d '{"model": "Qwen/Qwen3-4B"}'
