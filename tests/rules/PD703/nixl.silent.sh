#!/bin/bash
# pd-test: target=vllm==0.32.0
export GLOO_SOCKET_IFNAME=eth0 VLLM_NIXL_SIDE_CHANNEL_HOST=$(hostname -i)
vllm serve /models/m --data-parallel-size 4 --data-parallel-size-local 2 --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13389 \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
