# pd-test: target=vllm==0.32.0
for name in NCCL_DEBUG PYTHONHASHSEED; do
  export "$name"
done
PYTHONHASHSEED=0
vllm serve /models/m
