# pd-test: target=0.30.0rc2
vllm serve --kv-cache-dtype int8 --attention-config '{"indexer_kv_dtype":"fp8"}' /models/DeepSeek-V3.2-w8a8 --tensor-parallel-size 8 --quantization ascend --additional-config '{"enable_sparse_sfa_c8":true,"enable_sparse_li_c8":true}'
