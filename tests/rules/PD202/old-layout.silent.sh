# pd-test: target=0.23.0
vllm serve /models/Qwen2.5-7B-Instruct \
  --kv-transfer-config '{"kv_connector": "AscendMultiConnector", "kv_role": "kv_producer", "kv_connector_module_path":
    "vllm_ascend.distributed.kv_transfer.ascend_multi_connector", "kv_connector_extra_config": {"connectors": []}}'
