# pd-test: target=vllm==0.32.0
CUDA_VISIBLE_DEVICES=0 vllm serve /models/m --port 8010 --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}' &
VLLM_MOONCAKE_BOOTSTRAP_PORT=8999 CUDA_VISIBLE_DEVICES=1 vllm serve /models/m --port 8011 --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}' &
CUDA_VISIBLE_DEVICES=2 vllm serve /models/m --port 8012 --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_consumer"}' &
CUDA_VISIBLE_DEVICES=3 vllm serve /models/m --port 8013 --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer", "kv_connector_extra_config": {"bootstrap_server_address": "192.0.2.1:8998"}}' &
VLLM_MOONCAKE_BOOTSTRAP_PORT=$BOOTSTRAP CUDA_VISIBLE_DEVICES=4 vllm serve /models/m --port 8014 --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}' &
