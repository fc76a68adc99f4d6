# pd-test: target=vllm==0.24.0 severity=info line=2
vllm serve /models/m --async-scheduling  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
