# pd-test: target=0.29.0rc1
export VLLM_USE_V2_MODEL_RUNNER=1
vllm serve /models/DeepSeek-V3.2-w8a8 --tensor-parallel-size 8 --quantization ascend --additional-config '{"enable_dsa_cp":true}'
