# pd-test: severity=error line=2
vllm serve /models/m --port 8300 &
vllm serve /models/m --port 8100 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}' &
vllm serve /models/m --port 8200 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}' &
python3 toy_proxy_server.py --prefiller-host localhost --prefiller-port 8100 --decoder-host localhost --decoder-port 8300
