# pd-test: target=vllm==0.32.0
CUDA_VISIBLE_DEVICES=0 vllm serve /models/m --port 8100 --kv-events-config '{"enable_kv_cache_events": true}' &
CUDA_VISIBLE_DEVICES=1 vllm serve /models/m --port 8200 --kv-events-config '{"enable_kv_cache_events": false}' &
CUDA_VISIBLE_DEVICES=2 vllm serve /models/m --port 8300 --kv-events-config '{"enable_kv_cache_events": true, "endpoint": "tcp://collector:5557"}' &
CUDA_VISIBLE_DEVICES=3 vllm serve /models/m --port 8400 --kv-events-config '{"enable_kv_cache_events": true, "endpoint": "tcp://*:5558"}' &
CUDA_VISIBLE_DEVICES=4 vllm serve /models/m --port 8500 --kv-events-config '{"enable_kv_cache_events": true, "publisher": "null"}' &
CUDA_VISIBLE_DEVICES=5 vllm serve /models/m --port 8600 --kv-events-config '{"enable_kv_cache_events": true, "endpoint": "tcp://*:0"}' &
CUDA_VISIBLE_DEVICES=6 vllm serve /models/m --port 8700 --kv-events-config '{"enable_kv_cache_events": true, "endpoint": "'"$ENDPOINT"'"}' &
