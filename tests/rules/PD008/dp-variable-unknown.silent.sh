# pd-test: target=vllm==0.32.0
export VLLM_DP_SIZE=2
vllm serve /models/deepseek-v3 --data-parallel-size $DP
