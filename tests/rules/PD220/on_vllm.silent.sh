# pd-test: target=vllm:0.27.1
vllm serve /models/Qwen3-8B --kv-transfer-config '{"kv_connector": "MyConnector", "kv_role": "kv_producer", "kv_rank": 0,
  "kv_connector_module_path": "mine.connector"}'
