# pd-test: target=0.26.0rc1
ASCEND_RT_VISIBLE_DEVICES=0 vllm serve /models/m --port 8100 --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_producer", "kv_connector_extra_config": {"backend": "memcache", "lookup_rpc_port": "0", "consumer_is_to_load": true}}' &
ASCEND_RT_VISIBLE_DEVICES=1 vllm serve /models/m --port 8101 --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {"backend": "memcache", "lookup_rpc_port": "1", "consumer_is_to_load": true}}' &
wait
