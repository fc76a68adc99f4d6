# pd-test: line=5
export HCCL_IF_IP=192.0.2.12
vllm serve /models/Qwen3-235B-A22B --headless --data-parallel-start-rank 1 \
  --data-parallel-size 2 --data-parallel-size-local 1 --tensor-parallel-size 8 \
  --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13389
