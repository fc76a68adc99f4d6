# pd-test: target=0.23.0
docker run --shm-size=5g quay.io/ascend/vllm-ascend:v0.23.0 \
  vllm serve /models/m --tensor-parallel-size 8 --data-parallel-size 2
