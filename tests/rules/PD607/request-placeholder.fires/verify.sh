# pd-test: target=vllm==0.32.0 severity=warning line=2
curl http://<node_ip>:8088/v1/chat/completions -d '{"model": "Qwen/Qwen3-4B"}'
