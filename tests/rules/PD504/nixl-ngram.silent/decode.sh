#!/bin/bash
# pd-test: target=vllm:0.32.0
vllm serve Qwen/Qwen3-8B --speculative-config '{"method": "ngram", "num_speculative_tokens": 3}' --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
