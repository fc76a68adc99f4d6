#!/bin/bash
# pd-test: target=vllm==0.23.0
vllm serve /models/m --no-async-scheduling \
  --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"connectors": [{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}, {"kv_connector": "OffloadingConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"cpu_bytes_to_use": 17179869184}}]}}'
