# pd-test: target=0.29.0rc1
vllm serve /models/x --tensor-parallel-size 8 --kv-transfer-config '{"kv_connector":"MooncakeD2RHConnectorV1","kv_role":"kv_consumer","kv_port":"1","kv_connector_extra_config":{"prefill":{"dp_size":1,"tp_size":8},"decode":{"dp_size":1,"tp_size":8}}}'
