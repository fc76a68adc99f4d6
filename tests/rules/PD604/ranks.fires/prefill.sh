vllm serve m --tensor-parallel-size 4 --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}'
