# pd-test: target=vllm-ascend==0.26.0rc1
vllm serve /models/m --reasoning-parser kimi_k3 --enable-auto-tool-choice --tool-call-parser kimi_k3
