#!/bin/bash
docker run -d --gpus all --ipc=host --net=host --name pds-prefill vllm/vllm-openai:v0.30.0 \
  --model Qwen/Qwen3-8B --port 8100 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
docker run -d --gpus all --ipc=host --net=host --name pds-decode vllm/vllm-openai:v0.30.0 \
  --model Qwen/Qwen3-8B --port 8200 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
