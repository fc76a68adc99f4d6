#!/bin/bash
# pd-test: target=0.28.0rc1
export PYTHONHASHSEED=0 MOONCAKE_CONFIG_PATH=/etc/m.json
vllm serve /models/Qwen3-8B \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"lookup_rpc_port": "0"}}'
