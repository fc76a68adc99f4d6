#!/bin/bash
# pd-test: target=0.26.0rc1
vllm serve /models/DeepSeek-V4-Pro-w4a8 --block-size 32 --kv-transfer-config '{"kv_connector": "MooncakeHybridConnector", "kv_role": "kv_consumer"}'
