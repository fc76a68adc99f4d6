# pd-test: target=vllm==0.32.0
vllm serve /models/m --no-enable-prefix-caching --no_disable_hybrid-kv_cache_manager
