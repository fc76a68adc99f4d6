#!/bin/bash
# pd-test: line=3
CONFIG="'{\"kv_connector\": \"MooncakeConnectorV1\", \"kv_role\": \"kv_consumer\"}'"
vllm serve m --kv-transfer-config "$CONFIG"
