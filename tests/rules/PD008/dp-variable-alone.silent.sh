# pd-test: target=vllm==0.32.0
export VLLM_DP_SIZE=2 VLLM_DP_RANK=1
vllm serve /models/deepseek-v3
