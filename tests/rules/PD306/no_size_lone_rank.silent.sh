# pd-test: target=0.23.0
docker run --net=host quay.io/ascend/vllm-ascend:v0.23.0 \
  vllm serve /models/m --tensor-parallel-size 1
