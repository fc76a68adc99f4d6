# pd-test: target=0.29.0rc1
vllm serve /models/DeepSeek-V3.2-w8a8 --tensor-parallel-size 8 --pipeline-parallel-size 2 --async-scheduling --quantization ascend --additional-config '{"scheduler_config":{"profiling_chunk_config":{"enabled":true}}}'
