# pd-test: target=0.30.0rc1
vllm serve /models/GLM-5.3 --tensor-parallel-size 8 --quantization ascend --kv-cache-dtype int8
