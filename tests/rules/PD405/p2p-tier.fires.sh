# pd-test: target=vllm==0.32.0 line=3
CUDA_VISIBLE_DEVICES=0 vllm serve /models/m --port 8100 --kv-transfer-config '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"cpu_bytes_to_use": 1073741824, "secondary_tiers": [{"type": "p2p"}]}}' &
CUDA_VISIBLE_DEVICES=1 vllm serve /models/m --port 8200 --kv-transfer-config '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"cpu_bytes_to_use": 1073741824, "secondary_tiers": [{"type": "p2p", "port": 5710}]}}' &
