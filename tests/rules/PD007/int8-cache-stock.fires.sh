# pd-test: target=vllm==0.32.0
vllm serve /models/GLM-5.3 --tensor-parallel-size 8 --kv-cache-dtype int8
