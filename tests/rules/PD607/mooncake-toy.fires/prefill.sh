vllm serve /models/m --port 8010 --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}'
