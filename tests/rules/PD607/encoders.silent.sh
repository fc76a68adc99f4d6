ASCEND_RT_VISIBLE_DEVICES=0 vllm serve /models/vl --port 23001 \
  --ec-transfer-config '{"ec_connector": "ECExampleConnector", "ec_role": "ec_producer", "ec_connector_extra_config": {"shared_storage_path": "/ec"}}' &
ASCEND_RT_VISIBLE_DEVICES=1 vllm serve /models/vl --port 33003 \
  --ec-transfer-config '{"ec_connector": "ECExampleConnector", "ec_role": "ec_consumer", "ec_connector_extra_config": {"shared_storage_path": "/ec"}}' &
python3 epd_load_balance_proxy_layerwise_server_example.py --encoder-hosts 127.0.0.1 --encoder-ports 23001 --pd-hosts 127.0.0.1 --pd-ports 33003
