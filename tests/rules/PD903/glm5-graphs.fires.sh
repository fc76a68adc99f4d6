#!/bin/bash
# pd-test: target=0.19.1rc1
vllm serve /models/GLM-5-w4a8 --compilation-config '{"cudagraph_mode": "FULL_DECODE_ONLY"}' --speculative-config '{"method": "deepseek_mtp", "num_speculative_tokens": 3}' \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": 36000, "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}'
