# pd-test: target=vllm==0.32.0 line=3
# The engine makes one argument of what has dots, and it replaces the whole one.
vllm serve /models/m --kv-transfer-config.kv_role kv_consumer --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
