# pd-test: target=vllm==0.32.0 line=3
# One engine by itself: what it publishes and what it hands out again meet.
vllm serve /models/m --kv-events-config '{"enable_kv_cache_events": true, "endpoint": "tcp://*:5557", "replay_endpoint": "tcp://*:5557"}'
