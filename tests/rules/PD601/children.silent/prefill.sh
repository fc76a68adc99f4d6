#!/bin/bash
export HCCL_IF_IP=192.0.2.11
vllm serve /models/deepseek-v3.1-w8a8 \
  --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_producer", "kv_connector_extra_config": {"connectors": [{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}, {"kv_connector": "AscendStoreConnector", "kv_role": "kv_producer"}]}}'
