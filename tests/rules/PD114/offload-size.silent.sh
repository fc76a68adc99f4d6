# pd-test: target=vllm==0.32.0
vllm serve /models/m --kv-offloading-size 32 --kv-transfer-config '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}'
