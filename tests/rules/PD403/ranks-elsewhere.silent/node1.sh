export HCCL_IF_IP=192.0.2.12
vllm serve /models/deepseek-v3.1-w8a8 --headless --data-parallel-size 4 --data-parallel-size-local 4 \
  --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13389
