# pd-test: target=0.28.0rc1
vllm serve /models/m -pp 2 --no-async-scheduling \
  --additional-config '{"scheduler_config": {"profiling_chunk_config": {"enabled": true}, "short_request_first_config": {"enabled": true}}}'
