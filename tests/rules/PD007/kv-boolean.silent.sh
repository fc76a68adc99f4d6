# pd-test: target=vllm==0.32.0
vllm serve /models/m --kv-transfer-config '{"kv_connector": "NixlConnector", "enable_permute_local_kv": "yes", "kv_port": 36000.0}'
