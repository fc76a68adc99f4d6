# pd-test: target=0.30.0rc2
export VLLM_USE_V2_MODEL_RUNNER=1
vllm serve /models/DeepSeek-V3.2-w8a8 --tensor-parallel-size 8 --pipeline-parallel-size 2 --async-scheduling --quantization ascend --additional-config '{"scheduler_config":{"profiling_chunk_config":{"enabled":true}}}'
