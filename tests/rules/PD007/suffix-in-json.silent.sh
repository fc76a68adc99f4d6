# pd-test: target=vllm==0.20.0
vllm serve /models/m --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_port": 36k}'
