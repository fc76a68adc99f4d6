# pd-test: target=vllm==0.32.0 severity=warning line=2
vllm serve /models/m --reasoning-parser ours
