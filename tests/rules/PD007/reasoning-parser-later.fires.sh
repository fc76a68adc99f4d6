# pd-test: target=vllm==0.29.0 severity=error line=2
vllm serve /models/m --reasoning-parser deepseek_v41
