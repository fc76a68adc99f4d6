#!/bin/bash
# pd-test: target=0.26.0rc1 severity=warning
vllm serve /models/DeepSeek-V4-Pro-w4a8 --block-size 128 --kv-transfer-config '{"kv_connector": "MooncakeHybridConnector", "kv_role": "kv_consumer"}'
