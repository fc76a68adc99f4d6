# pd-test: target=vllm==0.32.0
vllm serve /models/m --kv-events-config '{"publisher":"null","enable_kv_cache_events":false}'
