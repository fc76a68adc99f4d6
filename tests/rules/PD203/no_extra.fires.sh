vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer"}'
