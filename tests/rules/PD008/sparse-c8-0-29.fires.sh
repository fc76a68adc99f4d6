# pd-test: target=0.29.0rc1 severity=warning
vllm serve /models/DeepSeek-V3.2-w8a8 --tensor-parallel-size 8 --quantization ascend --additional-config '{"enable_sparse_sfa_c8":true,"enable_sparse_li_c8":true}'
