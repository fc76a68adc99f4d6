# pd-test: target=vllm==0.32.0
export PYTHONHASHSEED=0 MOONCAKE_CONFIG_PATH=mooncake.json
vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeStoreConnector", "kv_role": "kv_both"}'
