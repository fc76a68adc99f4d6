# pd-test: target=0.23.0
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "MyConnector", "kv_role": "kv_both", "kv_connector_module_path": "my_company.kv"}'
