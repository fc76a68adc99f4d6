# pd-test: target=vllm==0.32.0
vllm serve m --tensor-parallel-size 8 --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_consumer"}'
