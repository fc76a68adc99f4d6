# an encoder sends embeddings, no KV
vllm serve /models/m --port 8100 --ec-transfer-config '{"ec_connector": "ECExampleConnector", "ec_role": "ec_producer"}' &
vllm serve /models/m --port 8200 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}' &
vllm serve /models/m --port 8300 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}' &
python3 toy_proxy_server.py --prefiller-host localhost --prefiller-port 8200 --decoder-host localhost --decoder-port 8300
