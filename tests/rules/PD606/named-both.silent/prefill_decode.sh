# pd-test: target=vllm==0.32.0
vllm serve /models/m --port 8000 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
