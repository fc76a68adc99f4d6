local_ip="xxxx"
node0_ip="xxxx" # the first node's
export HCCL_IF_IP=$local_ip
vllm serve /models/deepseek-v3.1-w8a8 --headless --data-parallel-size 2 --data-parallel-size-local 1 \
  --data-parallel-start-rank 1 --data-parallel-address $node0_ip --data-parallel-rpc-port 13389
