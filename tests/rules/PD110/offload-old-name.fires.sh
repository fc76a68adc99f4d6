#!/bin/bash
# pd-test: target=0.30.0rc2
vllm serve /models/DeepSeek-V3.1-w8a8 --data-parallel-size 16 --tensor-parallel-size 1 --enable-expert-parallel --quantization ascend \
  --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}, "finegrained_tp_config":{"oproj_tensor_parallel_size":8}}' \
  --kv-transfer-config '{"kv_connector":"MultiConnector","kv_role":"kv_consumer","kv_connector_extra_config":{"connectors":[
    {"kv_connector":"MooncakeConnectorV1","kv_role":"kv_consumer","kv_port":"30100"},
    {"kv_connector":"RecomputeCPUOffloadConnector","kv_role":"kv_consumer","kv_connector_module_path":"pd_launch.connector","kv_connector_extra_config":{"cpu_bytes_to_use_per_rank":17179869184}}]}}'
