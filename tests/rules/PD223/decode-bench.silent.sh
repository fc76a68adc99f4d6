#!/bin/bash
# pd-test: target=vllm:0.32.0
vllm serve Qwen/Qwen3-8B --port 20005 --kv-transfer-config '{"kv_connector": "DecodeBenchConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"fill_mean": 0.015, "fill_std": 0.0}}'
