export HCCL_IF_IP=192.0.2.11
vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 4 --data-parallel-size-local 0 \
  --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13389
