#!/bin/bash
docker run -d -p 9100:8101 -e HCCL_IF_IP=192.0.2.11 quay.io/ascend/vllm-ascend:v0.26.0rc1-a3 \
  vllm serve /models/m --port 8101 --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}'
