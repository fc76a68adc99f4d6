# pd-test: target=0.29.0rc1 severity=error
vllm serve /models/GLM-5.3 --tensor-parallel-size 8 --quantization ascend --kv-cache-dtype int8
