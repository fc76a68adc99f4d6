#!/bin/bash
CONFIG='{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
vllm serve m --kv-transfer-config "$CONFIG"
