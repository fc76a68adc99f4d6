# pd-test: target=vllm==0.32.0
vllm serve /models/m --reasoning-parser qwen3 --structured-outputs-config '{"reasoning_parser": "qwen3"}'
