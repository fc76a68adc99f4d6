# target: vllm==0.32.0
vllm serve /models/deepseek-v3.1 --tensor-parallel-size 8 --pipeline-parallel-size 2 \
  --nnodes 2 --node-rank 0 --master-addr 127.0.0.1 --master-port 29501
