# pd-test: target=vllm==0.24.0
vllm serve /models/m --tensor-parallel-size 4 --decode-context-parallel-size 2 \
  --kv-transfer-config '{"kv_connector": "SimpleCPUOffloadConnector", "kv_role": "kv_both"}'
