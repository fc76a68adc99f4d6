# target: vllm==0.32.0
vllm serve /models/deepseek-v3.1 --tensor-parallel-size 8 --pipeline-parallel-size 2 \
  --nnodes 2 --node-rank 0 --master-addr 192.0.2.10 --master-port 29501
