#!/bin/bash
# pd-test: target=0.26.0rc1
vllm serve /models/deepseek-v3.1-w8a8 --speculative-config '{"method": "ngram", "num_speculative_tokens": 3}' --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
