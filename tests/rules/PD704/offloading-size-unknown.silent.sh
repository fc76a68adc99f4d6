# pd-test: target=vllm==0.28.0
export PYTORCH_CUDA_ALLOC_CONF=$CONF
vllm serve /models/m --kv-offloading-size 12
