# pd-test: target=vllm==0.32.0
vllm serve /models/m --kv-events-config '{"publisher":"'$PUBLISHER'","enable_kv_cache_events":false}'
