#!/bin/bash
# pd-test: target=vllm:0.32.0
vllm serve zai-org/GLM-5.2 --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"connectors": [{"kv_connector": "HiSparseConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"host_pool_gib": 64}}, {"kv_connector": "NixlConnector", "kv_role": "kv_both"}]}}'
