#!/bin/bash
# pd-test: target=0.25.1rc1 line=3 severity=info
export VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT=60
vllm serve /models/m \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": 36000, "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}'
