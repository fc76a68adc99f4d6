# pd-test: target=vllm==0.32.0 line=2
vllm serve /models/m --kv-transfer-config '{"kv_connector": "ExampleConnector", "kv_role": "kv_both", "kv_connector_module_path": "vllm.distributed.kv_transfer.kv_connector.v1.nixl"}'
