# pd-test: target=0.29.0rc1
vllm serve --kv-cache-dtype $CACHE --attention-config "$ATTENTION" /models/DeepSeek-V3.2-w8a8 --tensor-parallel-size 8 --quantization ascend --additional-config '{"enable_sparse_sfa_c8":true,"enable_sparse_li_c8":true}'
