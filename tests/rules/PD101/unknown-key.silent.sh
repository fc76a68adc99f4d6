# pd-launch: target vllm==0.32.0
# The key that the environment gives may be kv_role.
vllm serve /models/m --kv-transfer-config '{"kv_connector": "NixlConnector", "'"$ROLE_KEY"'": "kv_producer"}'
