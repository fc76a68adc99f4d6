# pd-test: target=0.30.0rc2 severity=error
vllm serve /models/DeepSeek-V3.2-w8a8 --tensor-parallel-size 8 --prefill-context-parallel-size 2 --quantization ascend --additional-config '{"enable_dsa_cp":true}'
