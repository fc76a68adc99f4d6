# pd-test: target=0.23.0 severity=error
vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct \
  --no-disable-hybrid-kv-cache-manager \
  --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_producer", "kv_connector_extra_config": {"connectors": [{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}, {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}]}}'
