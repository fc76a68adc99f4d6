vllm serve /models/m --served-model-name m --port 8089 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
