# pd-test: target=0.30.0rc1 severity=error line=4
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_producer",
    "kv_connector_extra_config": {"connectors": [{"kv_connector": "NixlPushConnector", "kv_role": "kv_producer"}]}}'
