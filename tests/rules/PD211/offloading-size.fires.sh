# pd-test: target=vllm==0.20.2 line=2 severity=warning
vllm serve Qwen/Qwen3.5-27B --kv-offloading-size 16
