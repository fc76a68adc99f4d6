# first alone, then both sides behind a proxy
vllm serve /models/m --port 8100 &
wait_for 8100
pkill -f vllm
vllm serve /models/m --port 8100 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}' &
vllm serve /models/m --port 8200 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}' &
python3 toy_proxy_server.py --prefiller-host localhost --prefiller-port 8100 --decoder-host localhost --decoder-port 8200
