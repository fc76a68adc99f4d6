export VLLM_MOONCAKE_BOOTSTRAP_PORT=50052
vllm serve /models/m --port 8010 --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}'
