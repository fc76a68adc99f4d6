vllm serve /models/m --port 8010 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
