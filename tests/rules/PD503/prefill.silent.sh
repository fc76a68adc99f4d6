#!/bin/bash
vllm serve Qwen/Qwen3-8B --max-num-seqs 64 --compilation-config '{"cudagraph_capture_sizes": [8]}' \
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
