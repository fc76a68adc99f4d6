# pd-test: target=0.23.0
export HCCL_IF_IP=192.0.2.11
vllm serve /models/Qwen3-235B-A22B --data-parallel-size 2 --data-parallel-size-local 1 --tensor-parallel-size 8 \
  --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13309
