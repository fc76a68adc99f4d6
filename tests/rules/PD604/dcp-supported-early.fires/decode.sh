#!/bin/bash
# pd-test: severity=warning target=0.18.0
export HCCL_IF_IP=192.0.2.11
vllm serve /models/glm-5.2 \
  --tensor-parallel-size 8 --cp-kv-cache-interleave-size 128 --decode-context-parallel-size 1 --port 8200 \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}'
