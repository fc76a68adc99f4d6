# pd-test: target=0.25.1rc1 severity=error
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "CPUOffloadingConnector", "kv_role": "kv_both"}'
