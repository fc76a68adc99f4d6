# pd-test: target=vllm==0.32.0 line=4
# Two ranks publish at 5557 and 5558.
vllm serve /models/m --port 8100 --data-parallel-size 2 --kv-events-config '{"enable_kv_cache_events": true}' &
vllm serve /models/m --port 8200 --kv-events-config '{"enable_kv_cache_events": true, "endpoint": "tcp://*:5558"}' &
