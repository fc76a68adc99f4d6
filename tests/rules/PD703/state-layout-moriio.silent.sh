# pd-test: target=vllm==0.30.0
vllm serve moonshotai/Kimi-Linear-48B-A3B-Instruct \
  --kv-transfer-config '{"kv_connector": "MoRIIOConnector", "kv_role": "kv_producer", "kv_connector_extra_config": {"http_port": "8100"}}'
