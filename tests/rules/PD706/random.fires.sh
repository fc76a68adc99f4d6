#!/bin/bash
# pd-test: target=0.25.1rc1 line=3 severity=error
export PYTHONHASHSEED=random
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"lookup_rpc_port": "0"}}'
