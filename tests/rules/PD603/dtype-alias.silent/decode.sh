#!/bin/bash
vllm serve /models/DeepSeek-V3.1-w8a8 --dtype float16 --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
