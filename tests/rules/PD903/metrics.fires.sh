# pd-test: target=vllm==0.32.0 line=4
PYTHONHASHSEED=0 vllm serve /models/m --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_producer",
  "kv_connector_extra_config": {"connectors": [
    {"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"},
    {"kv_connector": "MooncakeStoreConnector", "kv_role": "kv_both"}]}}'
