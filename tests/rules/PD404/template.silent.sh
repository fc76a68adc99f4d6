# pd-test: target=0.25.1rc1
export ASCEND_RT_VISIBLE_DEVICES=$1
vllm serve /models/Qwen3-32B --port $2 --data-parallel-size $3 --data-parallel-rank $4 --data-parallel-address $5 \
  --data-parallel-rpc-port $6 --tensor-parallel-size $7 --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1",
  "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {
  "prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
