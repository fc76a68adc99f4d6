#!/bin/bash
# pd-test: target=0.25.1rc1
export PYTHONHASHSEED=0 MMC_LOCAL_CONFIG_PATH=/etc/mmc.conf
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"backend": "memcache", "lookup_rpc_port": "0"}}'
