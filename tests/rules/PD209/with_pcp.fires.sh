# pd-test: target=0.26.0rc1
vllm serve /models/m \
  --tensor-parallel-size 8 \
  --pipeline-parallel-size 2 \
  --prefill-context-parallel-size 2 \
  --cp-kv-cache-interleave-size 128 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8, "pp_size": 2}, "decode": {"dp_size": 1, "tp_size": 8}}}'
