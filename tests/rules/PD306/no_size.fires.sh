# pd-test: target=0.23.0 severity=warning
docker run --net=host quay.io/ascend/vllm-ascend:v0.23.0 \
  vllm serve /models/m --tensor-parallel-size 8 --data-parallel-size 2
