export ASCEND_RT_VISIBLE_DEVICES=$1
vllm serve /models/deepseek-v3.1-w8a8 --port $2 --data-parallel-size $3 --data-parallel-rank $4 \
  --data-parallel-address $5 --data-parallel-rpc-port $6 --tensor-parallel-size $7
