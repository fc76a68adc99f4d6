# pd-test: severity=error target=vllm==0.32.0 line=2
vllm serve m --tensor-parallel-size 6 --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_consumer"}'
