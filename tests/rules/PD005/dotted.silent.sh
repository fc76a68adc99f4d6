#!/bin/bash
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --kv-transfer-config.kv_connector NixlConnector \
  --kv-transfer-config.kv_role kv_both
