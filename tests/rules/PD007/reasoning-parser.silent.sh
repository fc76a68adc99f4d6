# pd-test: target=vllm==0.32.0
vllm serve /models/m --reasoning-parser deepseek_r1 --attention-backend flash_attn &
vllm serve /models/m --port 8001 --reasoning-parser "$PARSER" &
vllm serve /models/m --port 8002 --reasoning-parser mine --reasoning-parser-plugin /opt/mine.py
