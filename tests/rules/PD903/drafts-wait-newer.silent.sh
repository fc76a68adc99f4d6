# pd-test: target=vllm==0.31.0
vllm serve /models/m --no-async-scheduling --speculative-config '{"method": "mtp", "num_speculative_tokens": 1}' --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
