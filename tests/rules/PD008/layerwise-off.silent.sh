# pd-test: target=vllm==0.32.0
vllm serve /models/m --compilation-config '{"cudagraph_mode": "FULL_AND_PIECEWISE"}' --kv-transfer-config '{
  "kv_connector": "MultiConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"connectors": [
  {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both", "kv_connector_extra_config": {"use_layerwise": false}}]}}'
