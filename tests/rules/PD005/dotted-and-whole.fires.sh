# pd-test: target=vllm==0.32.0 line=3
vllm serve /models/m --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}' \
  --kv-transfer-config.kv_connector NixlConnector --kv-transfer-config.kv_role kv_consumer
