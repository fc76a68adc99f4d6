# pd-test: target=vllm==0.32.0 severity=error
vllm serve /models/m --kv-transfer-config '{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":{"cpu_bytes_to_use":1000000000,"block_size":64,"blocks_per_chunk":4}}'
