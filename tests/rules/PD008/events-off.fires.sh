# pd-test: target=vllm==0.32.0 severity=warning
vllm serve /models/m --kv-events-config '{"publisher":"zmq","enable_kv_cache_events":false}'
