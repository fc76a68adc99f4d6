#!/bin/bash
# pd-test: target=vllm==0.32.0 line=6
vllm serve Qwen/Qwen3-8B \
  --kv-transfer-config.kv_connector NixlConnector \
  --kv-transfer-config.kv_role kv_both \
  --kv-transfer-config.kv_prot 5000
