# pd-test: target=0.27.1rc1
export VLLM_USE_V2_MODEL_RUNNER=1
vllm serve /models/DeepSeek-V3.1 --tensor-parallel-size 8 --prefill-context-parallel-size 2 --enable-expert-parallel
