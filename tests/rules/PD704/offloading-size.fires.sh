# pd-test: target=vllm==0.28.0 line=2 severity=error
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
vllm serve /models/m --kv-offloading-size 12
