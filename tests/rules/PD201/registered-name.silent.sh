# pd-test: target=0.30.0rc2
vllm serve /models/x --kv-transfer-config '{"kv_connector":"UCMConnector","kv_role":"kv_both"}'
