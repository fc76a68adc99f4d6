#!/bin/bash
export HCCL_IF_IP=192.0.2.11
vllm serve /models/deepseek-v3.1-w8a8 \
  --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_consumer"}'
