# pd-test: target=0.23.0 line=4
vllm serve /models/Qwen2.5-7B-Instruct \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1_barebone", "kv_role": "kv_producer", "kv_port": "36000",
    "kv_connector_module_path": "vllm_ascend.distributed.mooncake_connector_v1_barebone",
    "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}'
