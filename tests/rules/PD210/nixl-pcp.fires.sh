# pd-test: target=vllm==0.32.0 line=2 severity=error
vllm serve /models/m --prefill-context-parallel-size 2 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
