# pd-test: target=vllm==0.32.0 line=3
CUDA_VISIBLE_DEVICES=0 vllm serve /models/m --port 8010 --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}' &
CUDA_VISIBLE_DEVICES=1 vllm serve /models/m --port 8011 --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}' &
