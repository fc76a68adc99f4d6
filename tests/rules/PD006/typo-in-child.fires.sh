#!/bin/bash
# pd-test: target=0.25.1rc1
vllm serve deepseek-ai/DeepSeek-V3.1 \
  -tp 8 \
  --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"connectors": [{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_connector_extra_cfg": {"prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}]}}'
