#!/bin/bash
# pd-test: target=vllm==0.32.0
export CUDA_VISIBLE_DEVICES=0
vllm serve /models/m --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
