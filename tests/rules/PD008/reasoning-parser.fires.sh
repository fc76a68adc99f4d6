# pd-test: target=vllm==0.32.0 severity=warning line=2
vllm serve /models/m --reasoning-parser qwen3 --structured-outputs-config '{"reasoning_parser": "deepseek_r1"}'
