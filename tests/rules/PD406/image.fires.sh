#!/bin/bash
docker run -d --net=host -e HCCL_IF_IP=192.0.2.11 quay.io/ascend/vllm-ascend:v0.26.0rc1-a3 \
  vllm serve /models/m --tensor-parallel-size 8 --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "30000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
