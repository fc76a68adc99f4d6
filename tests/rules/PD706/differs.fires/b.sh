#!/bin/bash
export MOONCAKE_CONFIG_PATH=/etc/m.json PYTHONHASHSEED=1
vllm serve /models/m --port 8001 \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"lookup_rpc_port": "0"}}'
