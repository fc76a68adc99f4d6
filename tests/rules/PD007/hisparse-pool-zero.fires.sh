#!/bin/bash
# pd-test: target=vllm:0.32.0 severity=error
vllm serve zai-org/GLM-5.2 --kv-transfer-config '{"kv_connector": "HiSparseConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"host_pool_gib": 0}}'
