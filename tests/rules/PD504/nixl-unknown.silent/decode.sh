#!/bin/bash
# pd-test: target=vllm:0.32.0
vllm serve zai-org/GLM-5.2-FP8 --speculative-config "{\"method\": \"$METHOD\", \"num_speculative_tokens\": 3}" --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
