# pd-test: target=0.23.0
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_parallel_size": 2, "kv_ip": "192.0.2.10", "enable_permute_local_kv": true}'
