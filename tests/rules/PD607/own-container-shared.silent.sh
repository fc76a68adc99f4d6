docker run -d --name decode vllm/vllm-openai:v0.32.0 --model /models/m --port 8200 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
docker run -d --network container:decode vllm/vllm-openai:v0.32.0 python3 toy_proxy_server.py \
  --port 8000 --prefiller-hosts localhost --prefiller-ports 8200 --decoder-hosts localhost --decoder-ports 8200
