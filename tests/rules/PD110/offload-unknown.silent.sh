# pd-test: target=0.30.0rc2
vllm serve /models/DeepSeek-V3.1-w8a8 --data-parallel-size 16 --enable-expert-parallel --kv-transfer-config "$KV" --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}, "finegrained_tp_config":{"oproj_tensor_parallel_size":8}}'
