#!/bin/bash
vllm serve Qwen/Qwen3-8B \
  --kv-transfer-config '{"kv_connector": "PdConnector", "kv_role": "kv_both", "kv_connector_module_path": "kvbm.vllm_integration.connector", "kv_connector_extra_config": {"connectors": [{"kv_connector": "DynamoConnector", "kv_role": "kv_both", "kv_connector_module_path": "kvbm.vllm_integration.connector"}, {"kv_connector": "NixlConnector", "kv_role": "kv_both"}]}}'
