# pd-test: target=vllm==0.32.0 severity=info line=2
export VLLM_DP_RANK=1
vllm serve /models/deepseek-v3 --data-parallel-size 2
