#!/bin/bash
# A decode node with 16 cards: two data-parallel ranks of eight cards each.
export HCCL_IF_IP=192.0.2.12 HCCL_SOCKET_IFNAME=eth0 GLOO_SOCKET_IFNAME=eth0 TP_SOCKET_IFNAME=eth0
vllm serve /models/deepseek-v3.1-w8a8 --port 8200 \
  --tensor-parallel-size 8 --data-parallel-size 2 --enable-expert-parallel --quantization ascend \
  --max-model-len 32768 --max-num-seqs 32 --max-num-batched-tokens 64 \
  --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}}' \
  --kv-transfer-config '{
    "kv_connector": "MultiConnector",
    "kv_role": "kv_consumer",
    "kv_connector_extra_config": {
      "prefill": {"dp_size": 2, "tp_size": 8},
      "decode": {"dp_size": 2, "tp_size": 8},
      "connectors": [
        {"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": 36000,
         "kv_connector_extra_config": {
           "prefill": {"dp_size": 2, "tp_size": 8},
           "decode": {"dp_size": 2, "tp_size": 8}}},
        {"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
         "kv_connector_extra_config": {"cpu_bytes_to_use": 17179869184,}}
      ]
    }
  }'
