vllm serve /models/m --port 8020 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
