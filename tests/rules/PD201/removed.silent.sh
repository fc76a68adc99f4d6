# pd-test: target=0.25.1rc1
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "SimpleCPUOffloadConnector", "kv_role": "kv_both"}'
