#!/bin/bash
# pd-test: target=0.30.0rc2
vllm serve /models/DeepSeek-V3.1-w8a8 \
  --data-parallel-size 2 --tensor-parallel-size 8 --max-model-len 32768 \
  --enable-expert-parallel --quantization ascend --trust-remote-code \
  --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}}' \
  --kv-transfer-config '{"kv_connector":"MultiConnector","kv_role":"kv_consumer","kv_load_failure_policy":"fail","kv_connector_extra_config":{"connectors":[
   {"kv_connector":"MooncakeConnectorV1","kv_role":"kv_consumer","kv_port":"30100","kv_connector_extra_config":{"prefill":{"dp_size":2,"tp_size":8},"decode":{"dp_size":2,"tp_size":8}}},
   {"kv_connector":"PreemptOffloadConnector","kv_role":"kv_consumer","kv_connector_extra_config":{"cpu_bytes_to_use_per_rank":17179869184}}]}}'
