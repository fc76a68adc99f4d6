# pd-test: target=0.30.0rc2 severity=error
vllm serve /models/x --kv-transfer-config '{"kv_connector":"UCMConnectorV1","kv_role":"kv_both"}'
