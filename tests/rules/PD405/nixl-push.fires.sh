# pd-test: target=vllm==0.32.0 line=3
CUDA_VISIBLE_DEVICES=0 vllm serve /models/m --port 8100 --kv-transfer-config '{"kv_connector": "NixlPushConnector", "kv_role": "kv_producer"}' &
CUDA_VISIBLE_DEVICES=1 vllm serve /models/m --port 8200 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}' &
