# pd-test: target=vllm==0.32.0 line=3
CUDA_VISIBLE_DEVICES=0 vllm serve /models/m --port 8100 --kv-events-config '{"enable_kv_cache_events": true}' &
CUDA_VISIBLE_DEVICES=1 vllm serve /models/m --port 8200 --kv-events-config '{"enable_kv_cache_events": true}' &
