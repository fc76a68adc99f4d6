#!/bin/bash
# pd-test: target=vllm==0.32.0
export PYTHONHASHSEED=0
vllm serve /models/m --kv-transfer-config \
  '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"cpu_bytes_to_use": 1073741824, "secondary_tiers": [{"type": "p2p"}]}}'
