#!/bin/bash
# pd-test: target=0.29.0rc1 severity=error
vllm serve /models/DeepSeek-V3.1-w8a8 --data-parallel-size 16 --tensor-parallel-size 1 --enable-expert-parallel --quantization ascend \
  --additional-config '{"finegrained_tp_config":{"embedding_tensor_parallel_size":8}}' \
  --kv-transfer-config '{"kv_connector":"MooncakeConnectorV1","kv_role":"kv_consumer","kv_port":"30100","kv_connector_extra_config":{"prefill":{"dp_size":2,"tp_size":8},"decode":{"dp_size":16,"tp_size":1}}}'
