#!/bin/bash
# pd-test: target=vllm:0.32.0
vllm serve /mnt/$DISK/Qwen3-8B --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
