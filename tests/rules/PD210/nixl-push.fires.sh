# pd-test: target=vllm==0.32.0 line=2 severity=error
vllm serve /models/m --tensor-parallel-size 4 --decode-context-parallel-size 2 \
  --kv-transfer-config '{"kv_connector": "NixlPushConnector", "kv_role": "kv_producer"}'
