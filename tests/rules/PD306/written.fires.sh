# pd-test: target=0.23.0 severity=error
docker run --shm-size=4g quay.io/ascend/vllm-ascend:v0.23.0 \
  vllm serve /models/m --tensor-parallel-size 8 --data-parallel-size 2
