#!/bin/bash
# pd-test: target=0.25.1rc1 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 \
  --additional-config '{"scheduler_config": {"short_request_first_config": {"enabled": true}, "batch_job_sched_config": {"enabled": true}}}' \
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000", "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
