# pd-test: target=0.30.0rc2
export VLLM_ASCEND_ENABLE_FLASHCOMM1=1
vllm serve /models/m
